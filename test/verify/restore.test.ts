import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { type Ask, get, mergePatch, post, remove } from "../support/cluster-connection.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { etcdBackup } from "./etcd-backup.ts";
import { eventually } from "../support/eventually.ts";
import { gatewayCa, managementPath } from "../support/gateway-address.ts";
import { askGateway } from "../support/gateway-request.ts";
import { applyGateway } from "../support/install.ts";
import { keysPath, postKey, postNamespace } from "../support/latchkey-objects.ts";
import type { GatewayProcess } from "../support/latchkey-process.ts";
import { type ReviewClient, reviewClient } from "../support/review-client.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { selfReview } from "../support/ways-in.ts";

/** The time until every answer is that of the restored state; docs/operations.md. */
const patience = { within: 60_000, every: 100 };
const others = "/api/v1/namespaces/home/configmaps";

let cluster: DedicatedCluster;
let proxy: TcpProxy;
let reviews: ReviewClient;
let gateway: GatewayProcess;
let certificateAuthority: string;

/** An API server may reject writes of custom resources for a second after it is ready. */
async function write(request: Ask): Promise<void> {
  await eventually(
    async () => {
      const { code, message } = await cluster.ask({}, request);
      if (code >= 300) throw new Error(`${code} ${message}`);
      return true;
    },
    { what: `${request.method} ${request.path}` },
  );
}

/** The current version of etcd. */
async function version(): Promise<number> {
  const { metadata } = await cluster.arrange(get(`${others}?limit=1`));
  return Number(metadata.resourceVersion);
}

/** Writes other objects until etcd has at least this version. */
async function advanceTo(least: number): Promise<void> {
  while ((await version()) < least)
    await write(post(others, { metadata: { generateName: "other-" } }));
}

/** What decides about keys: the webhook, and the gateway by itself. */
const deciders = {
  webhook: async (key: string) => (await reviews.tokenReview(key)).authenticated === true,
  gateway: async (key: string) => {
    const { path, method, body } = selfReview;
    const server = { url: gateway.gatewayUrl, certificateAuthority };
    const headers = { "content-type": "application/json" };
    const request = { method, path: managementPath + path, key, headers, server };
    return (await askGateway({ ...request, body: JSON.stringify(body) })).status === 201;
  },
};

function areAccepted(keys: Record<string, string>, expected: Record<string, boolean>) {
  const answers = Object.entries(deciders).flatMap(([by, accepts]) =>
    Object.entries(expected).map(([name, isExpected]) => {
      const what = `the key ${name} to be ${isExpected ? "accepted" : "rejected"} by the ${by}`;
      return eventually(async () => (await accepts(keys[name] ?? "")) === isExpected, {
        ...patience,
        what,
      });
    }),
  );
  return Promise.all(answers);
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const withPassword = (text: string) => ({ password: base64(text) });
const sources = "/apis/management.service/v1/namespaces/home/sharedsecrets";
const copy = "/api/v1/namespaces/target/secrets/db";

function copyHolds(text: string): Promise<void> {
  return eventually(
    async () => recordAt(await cluster.ask({}, get(copy)), "data")?.["password"] === base64(text),
    { ...patience, what: `the copy to hold "${text}"` },
  ).then(() => {});
}

/** Everything of Latchkey reaches the API server over the proxy. */
async function startPrograms(): Promise<void> {
  proxy = await startTcpProxy(Number(new URL(cluster.controlPlane.url).port));
  const controlPlane = { ...cluster.controlPlane, url: `https://127.0.0.1:${proxy.port}` };
  await applyGateway(cluster.controlPlane);
  const webhook = await cluster.runWebhook({ controlPlane });
  gateway = await cluster.runGateway({ controlPlane });
  const controller = await cluster.run({ controlPlane, restart: "at-once" });
  await Promise.all([webhook, gateway, controller].map((program) => program.waitReady()));
  certificateAuthority = await gatewayCa(cluster.controlPlane);
  reviews = await reviewClient(webhook.webhookUrl, "kube-apiserver", (request) =>
    cluster.arrange(request),
  );
}

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster();
  await write(postNamespace("home"));
  await write(
    postNamespace({
      name: "target",
      labels: { [labels.project]: "web" },
      annotations: { [annotations.sync]: "enabled" },
    }),
  );
  await startPrograms();
  const metadata = { name: "db", annotations: { [annotations.syncToProjects]: "web" } };
  const spec = { data: withPassword("first") };
  await write(post(sources, { apiVersion, kind: "SharedSecret", metadata, spec }));
});

afterAll(async () => {
  reviews?.close();
  await cluster?.stop();
  await proxy?.stop();
});

describe.skipIf(!hasDedicatedClusters)("after a restore of etcd", () => {
  it.each<[string, (seen: number) => Promise<void>]>([
    ["behind the version that they have seen", async () => {}],
    ["at the version that they have seen", (seen) => advanceTo(seen)],
    ["past the version that they have seen", (seen) => advanceTo(seen + 100)],
  ])("webhook, gateway and controller follow the restored state, %s", async (where, advance) => {
    const patch = (path: string, body: object) => write(mergePatch(path, body));
    const backup = etcdBackup(cluster.controlPlane);
    const keys: Record<string, string> = {};
    for (const name of ["on", "gone", "off", "keep"]) {
      keys[name] = randomBytes(24).toString("hex");
      const spec = { user: "admin", key: keys[name], disabled: name === "on" };
      await write(postKey(`${name}-${where.split(" ")[0]}`, spec));
    }
    const pathOf = (name: string) => `${keysPath}/${name}-${where.split(" ")[0]}`;
    const disable = (name: string, disabled: boolean) =>
      write(mergePatch(pathOf(name), { spec: { disabled } }));
    await areAccepted(keys, { on: false, gone: true, off: true, keep: true });
    await patch(`${sources}/db`, { spec: { data: withPassword(`saved ${where}`) } });
    await copyHolds(`saved ${where}`);
    await backup.save();
    await disable("on", false);
    await disable("off", true);
    await write(remove(pathOf("gone")));
    await patch(`${sources}/db`, { spec: { data: withPassword("later") } });
    await copyHolds("later");
    await areAccepted(keys, { on: true, gone: false, off: false, keep: true });
    await advanceTo((await version()) + (where.startsWith("behind") ? 200 : 0));
    const seen = await version();

    // They find the API server only when etcd has advanced.
    proxy.reset(1);
    await backup.restore();
    await advance(seen);
    await disable("keep", true);
    await patch(copy, { data: withPassword("edited") });
    expect((await version()) < seen).toBe(where.startsWith("behind"));
    proxy.reset(0);
    await Promise.all([
      areAccepted(keys, { on: false, gone: true, off: true, keep: false }),
      copyHolds(`saved ${where}`),
    ]);
  });
});
