import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import { numberAt, parseConditions, recordAt } from "../../src/api/parse.ts";
import { type ChartCluster, type ChartProcesses, startChartCluster } from "./chart-cluster.ts";
import { get, mergePatch, post } from "../support/cluster-connection.ts";
import { hasDedicatedClusters, settled } from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { apply, policiesCount } from "../support/install.ts";
import { askAs } from "../support/key-request.ts";
import { kubectl } from "../support/kubectl.ts";
import {
  keysPath,
  makeRoot,
  postKey,
  postNamespace,
  readyReason,
} from "../support/latchkey-objects.ts";
import { trustWebhook } from "../support/trust.ts";
import { newKey } from "../support/webhook-cluster.ts";

const namespace = "latchkey-system";
/** The chart of the first commit with one; a release replaces it with its own. */
const base = join(import.meta.dirname, "base-chart.tgz");
const inNamespace = [`--namespace=${namespace}`, "--create-namespace"];

const copyPath = "/api/v1/namespaces/web/secrets/database";

/** A SharedSecret in the namespace team-a that is copied to the namespace web. */
const database = {
  apiVersion,
  kind: "SharedSecret",
  metadata: {
    name: "database",
    namespace: "team-a",
    annotations: { "management.service/sync-to-projects": "web" },
  },
  spec: { data: { password: "czNjcmV0" } },
};

let chart: ChartCluster;
let processes: ChartProcesses;
const key = newKey();

const read = (path: string) => chart.cluster.arrange(get(path));
const works = async () =>
  (await askAs(chart.cluster.controlPlane, key, get("/api/v1/namespaces"))).code === 200;

async function makeDatabase(): Promise<void> {
  const { cluster } = chart;
  await cluster.arrange(postNamespace("team-a"));
  const labels = { "management.service/project": "web" };
  const annotations = { "management.service/sync": "enabled" };
  await cluster.arrange(postNamespace({ name: "web", labels, annotations }));
  await cluster.arrange(post(`/apis/${apiVersion}/namespaces/team-a/sharedsecrets`, database));
  await eventually(async () => (await read(copyPath)).code === 200, { what: "the copy" });
}

/** What must not change: the copy, the key, and what `helm uninstall` keeps; a chart adds to it. */
async function kept() {
  const [copy, own, uids] = await Promise.all([
    read(copyPath),
    read(`${keysPath}/first`),
    chart.keptUids(),
  ]);
  return {
    copy: [copy.metadata["uid"], copy.metadata.resourceVersion],
    key: [own.metadata["uid"], readyReason(own.status), parseConditions(own.status)],
    uids,
  };
}

describe.skipIf(!hasDedicatedClusters)("the life cycle of the chart", () => {
  const table: string[] = [];
  let before: Awaited<ReturnType<typeof kept>>;
  let began = 0;

  /** Runs a step, and writes a line with the time since `from`. */
  async function timed(step: string, work: () => Promise<unknown>, from?: number): Promise<void> {
    const start = from ?? performance.now();
    await work();
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    table.push(`  ${step.padEnd(52)}${seconds.padStart(6)} s`);
  }

  const replicas = async () =>
    numberAt(
      recordAt(
        await read(`/apis/apps/v1/namespaces/${namespace}/deployments/latchkey-controller`),
        "spec",
      ),
      "replicas",
    );

  beforeAll(async () => {
    chart = await startChartCluster();
    await chart.cluster.arrange(makeRoot);
  });

  afterAll(async () => {
    process.stdout.write(`The life cycle of the chart:\n${table.join("\n")}\n`);
    await chart?.stop();
  });

  it("installs in an empty cluster: a Secret is synced, and a key works", async () => {
    began = performance.now();
    await timed("helm install, of the base", () =>
      chart.helm("install", "latchkey", base, ...inNamespace),
    );
    processes = await chart.startProcesses({ namespace });
    await timed("from nothing to the first synced Secret", makeDatabase, began);
    const { cluster } = chart;
    await trustWebhook(cluster.controlPlane, processes.webhook);
    await policiesCount(cluster.controlPlane);
    await cluster.arrange(postKey("first", { user: "root", key }));
    const itWorks = () => eventually(works, { what: "the key to work" });
    await timed("from nothing to the first working key", itWorks, began);
    await settled(processes.controller);
    before = await eventually(
      async () => {
        const found = await kept();
        return found.key.includes("Active") && found;
      },
      { what: "the key to be active" },
    );
    expect(Object.keys(before.uids).length).toBeGreaterThan(30);
  });

  it("has chosen between 1.36 and older versions by itself", async () => {
    const { controlPlane, stampedBy } = chart.cluster;
    const list = ["get", "mutatingwebhookconfigurations", "-o=name"];
    const names = (await kubectl(controlPlane, list)).match(/(?<=\/).*/g);
    const before136 = stampedBy === "webhook" ? ["latchkey-requester-annotations"] : [];
    expect(names).toEqual(["latchkey", ...before136]);
  });

  it("upgrades to the chart of these sources, with other values", async () => {
    const upgrade = ["upgrade", "latchkey", chart.chart, ...inNamespace];
    await timed("helm upgrade", () => chart.helm(...upgrade, "--set=controller.replicas=3"));
    expect(await replicas()).toBe(3);
    expect(await kept()).toMatchObject(before);
  });

  it("rolls back", async () => {
    await timed("helm rollback", () =>
      chart.helm("rollback", "latchkey", "1", `--namespace=${namespace}`),
    );
    expect(await replicas()).toBe(2);
    expect(await kept()).toMatchObject(before);
    expect(await works()).toBe(true);
  });

  it("is waited for by helm: until a SharedSecret is ready, or with the reason why it is not", async () => {
    const own = mkdtempSync(join(tmpdir(), "chart-of-user-"));
    mkdirSync(join(own, "templates"));
    writeFileSync(join(own, "Chart.yaml"), "{apiVersion: v2, name: app, version: 1.0.0}");
    const app = {
      ...database,
      metadata: { name: "app" },
      spec: {
        ...database.spec,
        access: [{ name: "read", verbs: ["{{ .Values.verb }}"], users: ["carol"] }],
      },
    };
    writeFileSync(join(own, "templates", "app.yaml"), JSON.stringify(app));
    const install = ["install", "app", own, "--namespace=team-a", "--wait", "--timeout=60s"];
    await timed("helm install --wait, of a SharedSecret", () =>
      chart.helm(...install, "--set=verb=get"),
    );
    const { status } = await read(`/apis/${apiVersion}/namespaces/team-a/sharedsecrets/app`);
    expect(readyReason(status)).toBe("Ready");
    await chart.helm("uninstall", "app", "--namespace=team-a", "--wait");
    await expect(chart.helm(...install, "--set=verb=fly")).rejects.toThrow(
      'spec.access[0].verbs[0]: "fly" is not supported',
    );
    await chart.helm("uninstall", "app", "--namespace=team-a", "--wait");
  });

  it("is uninstalled, and keeps CRDs, policies, keys and copies", async () => {
    await timed("helm uninstall", () =>
      chart.helm("uninstall", "latchkey", `--namespace=${namespace}`, "--wait"),
    );
    await processes.stop();
    const { controlPlane } = chart.cluster;
    const left = [
      "get",
      "deployments,serviceaccounts,services",
      `--namespace=${namespace}`,
      "-o=name",
    ];
    expect((await kubectl(controlPlane, left)).trim()).toBe("serviceaccount/default");
    expect(await kept()).toMatchObject(before);
  });

  it("is installed again, and the key works again", async () => {
    const again = async () => {
      await chart.helm("install", "latchkey", chart.chart, ...inNamespace);
      const { host: address } = new URL(processes.webhook.webhookUrl);
      processes = await chart.startProcesses({ namespace, address });
      await eventually(works, { what: "the key to work again" });
    };
    await timed("helm install again, until the key works again", again);
    await settled(processes.controller);
    expect(await kept()).toMatchObject(before);
    table.push(
      `  unchanged after each step: the uids of ${Object.keys(before.uids).length} CRDs, policies and bindings,`,
      "  the status of the key (Active), uid and resourceVersion of the copy",
    );
  });
});

describe.skipIf(!hasDedicatedClusters)("an installation by kubectl apply -k", () => {
  beforeAll(async () => {
    chart = await startChartCluster();
    const { cluster } = chart;
    const { controlPlane, stampedBy } = cluster;
    await apply(controlPlane, join("config", stampedBy === "policy" ? "default" : "before-1.36"));
    processes = await chart.startProcesses({ namespace });
    await makeDatabase();
    await policiesCount(controlPlane);
    // Refused unless kube-apiserver reaches the webhook by its Service.
    await cluster.arrange(postKey("first", { user: "root" }));
    const active = async () => readyReason((await read(`${keysPath}/first`)).status) === "Active";
    await eventually(active, { what: "the key to be Active" });
    await settled(processes.controller);
  });

  afterAll(() => chart?.stop());

  it("is taken over by the chart: CRDs, policies, key and copy stay", async () => {
    const before = await kept();
    const install = ["install", "latchkey", chart.chart, `--namespace=${namespace}`];
    await expect(chart.helm(...install)).rejects.toThrow("invalid ownership metadata");
    await chart.helm(...install, "--take-ownership", "--force-conflicts");
    expect(await kept()).toMatchObject(before);
  });
});

describe.skipIf(!hasDedicatedClusters)("the chart of a connected cluster", () => {
  const keptKeys = `/api/v1/namespaces/${namespace}/secrets/latchkey-direct-endpoint-keys`;
  const options = "cluster-name=east,directEndpoint.options.issuer=https://latchkey.example.com";
  const endpoint = `--set=directEndpoint.enabled=true,directEndpoint.options.${options}`;

  beforeAll(async () => {
    chart = await startChartCluster();
  });

  afterAll(() => chart?.stop());

  it("keeps policies, and the keys of direct tokens that a process has written", async () => {
    const install = ["install", "latchkey", chart.connectedChart, ...inNamespace, endpoint];
    await chart.helm(...install);
    // As the process does when it has read the keys of the issuer.
    const written = { "jwks.json": Buffer.from("{}").toString("base64") };
    await chart.cluster.arrange(mergePatch(keptKeys, { data: written }));
    const state = async () => {
      const { metadata, ...secret } = await read(keptKeys);
      return [metadata["uid"], secret["data"], await chart.keptUids()];
    };
    const before = await state();
    expect(before).toContainEqual(written);
    await chart.helm("upgrade", ...install.slice(1), "--set=gateway.enabled=true");
    expect(await state()).toMatchObject(before);
    await chart.helm("uninstall", "latchkey", `--namespace=${namespace}`);
    expect(await state()).toMatchObject(before);
    await chart.helm(...install);
    expect(await state()).toMatchObject(before);
  });
});
