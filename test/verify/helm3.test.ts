import { join } from "node:path";
import { loadAll } from "js-yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isRecord, recordAt, stringAt } from "../../src/api/parse.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { get } from "../support/cluster-connection.ts";
import { findHelm, type Helm } from "../support/helm.ts";
import { findOrBuildHelm3 } from "../support/helm3.ts";
import { apply } from "../support/install.ts";
import {
  byName,
  ofEast,
  type PackagedCharts,
  packageCharts,
  releaseLabels,
} from "../dedicated/chart-fixture.ts";

const namespace = "latchkey-system";
const base = join(import.meta.dirname, "base-chart.tgz");
const report = (line: string) => void process.stderr.write(`helm 3: ${line}\n`);

describe.skipIf(!hasDedicatedClusters)("Helm 3", () => {
  let charts: PackagedCharts;
  let cluster: DedicatedCluster;
  let helms: readonly Helm[];
  const chart = (name: string) => join(charts.directory, name);

  beforeAll(async () => {
    charts = await packageCharts();
    cluster = await startDedicatedCluster({ install: "nothing" });
    const kubeconfig = cluster.controlPlane.adminKubeconfig;
    const program = await findOrBuildHelm3(report);
    helms = await Promise.all([findHelm({ kubeconfig, program }), findHelm({ kubeconfig })]);
  });
  afterAll(async () => {
    await cluster?.stop();
    charts?.remove();
  });

  /** Runs Helm 3; throws with what it prints if it fails. */
  async function helm3(...args: readonly string[]): Promise<void> {
    const { code, stderr } = (await helms[0]?.(args)) ?? { code: 1, stderr: "no Helm" };
    if (code !== 0) throw new Error(`helm ${args.join(" ")}: ${stderr}`);
  }

  test.each([
    ["latchkey", { gateway: { enabled: true }, commonLabels: { team: "a" } }],
    ["latchkey-connected", { directEndpoint: { enabled: true, ...ofEast } }],
  ])("renders the same objects of %s as Helm 4", async (name, values) => {
    const args = ["template", "latchkey", chart(name), "--kube-version=1.37", "--values=-"];
    const [objects, wanted] = await Promise.all(
      helms.map(async (helm) => {
        const { code, stdout } = await helm(args, JSON.stringify(values));
        expect(code).toBe(0);
        return byName(loadAll(stdout).filter(isRecord));
      }),
    );
    expect(Object.keys(wanted ?? {}).length).toBeGreaterThan(10);
    expect(objects).toEqual(wanted);
  });

  test("refuses a typing mistake, and names it", async () => {
    const install = ["install", "latchkey", chart("latchkey"), "--set=contoller.replicas=3"];
    await expect(helm3(...install)).rejects.toThrow("additional properties 'contoller'");
  });

  const controller = async () => {
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/latchkey-controller`;
    const { metadata, spec } = await cluster.arrange(get(path));
    const labels = recordAt({ metadata }, "metadata")["labels"];
    return {
      labels: Object.keys(Object(labels)),
      replicas: recordAt({ spec }, "spec")["replicas"],
    };
  };
  const kept = async () => {
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const { metadata } = await cluster.arrange(get(`${path}/sharedsecrets.management.service`));
    return stringAt(metadata, "uid");
  };

  test("installs the chart of the first commit, upgrades to this one, and rolls back", async () => {
    const upgrade = ["upgrade", "--install", "latchkey", `--namespace=${namespace}`];
    await helm3(...upgrade, base, "--create-namespace");
    const uid = await kept();
    await helm3(...upgrade, chart("latchkey"), "--set=controller.replicas=3");
    const after = await controller();
    expect(after.replicas).toBe(3);
    expect(after.labels).toEqual(expect.arrayContaining([...releaseLabels]));
    await helm3("rollback", "latchkey", "1", `--namespace=${namespace}`);
    expect(await controller()).toMatchObject({ replicas: 2 });
    await helm3("uninstall", "latchkey", `--namespace=${namespace}`);
    await helm3(...upgrade, chart("latchkey"));
    expect(await kept()).toBe(uid);
    await helm3("uninstall", "latchkey", `--namespace=${namespace}`);
  });

  test("takes over what kubectl has installed", async () => {
    const { controlPlane, stampedBy } = cluster;
    await apply(controlPlane, join("config", stampedBy === "policy" ? "default" : "before-1.36"));
    const install = ["install", "other", chart("latchkey"), `--namespace=${namespace}`];
    await helm3(...install, "--take-ownership");
    expect((await controller()).labels).toEqual(expect.arrayContaining([...releaseLabels]));
  });
});
