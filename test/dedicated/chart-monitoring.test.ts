import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { findHelm } from "../support/helm.ts";
import { repository } from "../support/install.ts";
import { eventually } from "../support/eventually.ts";
import { kubectl, tryKubectl } from "../support/kubectl.ts";
import { operatorCrds, operatorKinds } from "../support/operator-crds.ts";
import { hasTools } from "../support/tools.ts";
import { byName, type Charts, packageCharts } from "./chart-fixture.ts";

const report = (line: string): void => void process.stderr.write(`${line}\n`);
const isRun = hasDedicatedClusters && hasTools(report);
const labels = { release: "prometheus" };
const scraped = { enabled: true, labels, interval: "15s" };
const rule = {
  prometheusRule: { enabled: true, labels, runbookUrl: "https://wiki.example.com/r" },
};
const withServices = { serviceMonitor: scraped, ...rule };
const withPods = { podMonitor: scraped, ...rule };

describe.skipIf(!isRun)("a cluster with the CRDs of the Prometheus Operator", () => {
  let charts: Charts;
  let cluster: DedicatedCluster;

  beforeAll(async () => {
    let crds: string;
    [charts, cluster, crds] = await Promise.all([
      packageCharts(),
      startDedicatedCluster({ install: "nothing" }),
      operatorCrds(report),
    ]);
    const { controlPlane } = cluster;
    await kubectl(controlPlane, ["create", "--filename=-"], { input: crds });
    const names = operatorKinds.map((plural) => `crd/${plural}.monitoring.coreos.com`);
    const wait = ["wait", ...names, "--for=condition=Established"];
    // kubectl fails on a CRD without conditions, which a new one is for a moment.
    await eventually(async () => (await tryKubectl(controlPlane, wait)).code === 0, {
      what: "the CRDs to be established",
    });
    await kubectl(controlPlane, ["create", "namespace", "latchkey-system"]);
  });
  afterAll(async () => {
    await cluster?.stop();
    charts?.remove();
  });

  /** Whether the API server accepts an object that has no field that its kind does not have. */
  const strictly = (object: unknown) =>
    tryKubectl(
      cluster.controlPlane,
      ["create", "--validate=strict", "--dry-run=server", "--filename=-"],
      { input: JSON.stringify(object) },
    );

  const rows = ["latchkey", "latchkey-connected"].flatMap((chart) => [
    { chart, name: "ServiceMonitor latchkey", values: withServices, field: "endpoints" },
    { chart, name: "PodMonitor latchkey", values: withPods, field: "podMetricsEndpoints" },
    { chart, name: "PrometheusRule latchkey", values: withServices, field: "groups" },
  ]);

  test.each(rows)("accepts the $name of $chart, and no misspelt field", async (row) => {
    const object = byName(await charts.rendered(row))[row.name];
    expect(await strictly(object)).toMatchObject({ code: 0, stderr: "" });
    const misspelt: unknown = JSON.parse(
      JSON.stringify(object).replace(`"${row.field}":[{"`, `"${row.field}":[{"x`),
    );
    const { code, stderr } = await strictly(misspelt);
    expect(code).toBe(1);
    expect(stderr).toMatch(`unknown field "spec.${row.field}[0].x`);
  });

  test("accepts config/prometheus", async () => {
    const directory = join(repository, "config", "prometheus");
    const flags = ["--server-side", "--validate=strict", "--dry-run=server"];
    const applied = await kubectl(cluster.controlPlane, ["apply", ...flags, "-k", directory]);
    expect(applied).toContain("servicemonitor.monitoring.coreos.com/latchkey serverside-applied");
  });

  test.each([
    [
      "latchkey-connected",
      { ...withPods, policies: { keep: false } },
      ["PodMonitor latchkey", "PrometheusRule latchkey"],
    ],
    [
      "latchkey",
      { ...withServices, grafanaDashboard: { enabled: true } },
      ["ConfigMap latchkey-dashboard", "PrometheusRule latchkey", "ServiceMonitor latchkey"],
    ],
  ])("has the objects of %s after helm install", async (chart, values, wanted) => {
    const { adminKubeconfig: kubeconfig } = cluster.controlPlane;
    const helm = await findHelm({ kubeconfig });
    const namespace = "--namespace=latchkey-system";
    const install = ["install", chart, join(charts.directory, chart), namespace, "--values=-"];
    expect(await helm(install, JSON.stringify(values))).toMatchObject({ code: 0, stderr: "" });
    const found = await kubectl(cluster.controlPlane, [
      ...["get", [...operatorKinds, "configmaps"].join(","), namespace],
      ...["--selector=app.kubernetes.io/name=latchkey", "--no-headers"],
      "--output=custom-columns=:kind,:metadata.name",
    ]);
    const names = found.trim().split("\n");
    expect(names.map((line) => line.split(/ +/).join(" ")).toSorted()).toEqual(wanted);
    expect(await helm(["uninstall", chart, namespace])).toMatchObject({ code: 0 });
  });
});
