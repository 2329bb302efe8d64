import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import {
  applyChart,
  byName,
  type Charts,
  startCharts,
  withRenderer,
} from "../dedicated/chart-fixture.ts";
import { repository } from "../support/install.ts";
import { eventually } from "../support/eventually.ts";
import { kubectl, tryKubectl } from "../support/kubectl.ts";
import { operatorCrds, operatorKinds } from "../support/operator-crds.ts";
import { orMissing, present } from "../support/prepared.ts";
import { skippedWithout } from "../support/skipped.ts";

const report = (line: string): void => void process.stderr.write(`${line}\n`);
const crds = await orMissing(operatorCrds(report));
const isRun = { ...withRenderer, ...skippedWithout(crds) };
const labels = { release: "prometheus" };
const scraped = { enabled: true, labels, interval: "15s" };
const rule = {
  prometheusRule: { enabled: true, labels, runbookUrl: "https://wiki.example.com/r" },
};
const withServices = { serviceMonitor: scraped, ...rule };
const withPods = { podMonitor: scraped, ...rule };

describe.skipIf(!hasDedicatedClusters)("a cluster with the Prometheus Operator", isRun, () => {
  let charts: Charts;
  let cluster: DedicatedCluster;

  beforeAll(async () => {
    [charts, cluster] = await Promise.all([
      startCharts(),
      startDedicatedCluster({ install: "nothing" }),
    ]);
    const { controlPlane } = cluster;
    await kubectl(controlPlane, ["create", "--filename=-"], { input: present(crds) });
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
  ])("has the objects of %s", async (chart, values, wanted) => {
    const namespace = "--namespace=latchkey-system";
    await applyChart(charts, cluster.controlPlane, { chart, values });
    const selected = [
      ...[[...operatorKinds, "configmaps"].join(","), namespace],
      "--selector=app.kubernetes.io/name=latchkey",
    ];
    const columns = "--output=custom-columns=:kind,:metadata.name";
    const found = await kubectl(cluster.controlPlane, [
      "get",
      ...selected,
      "--no-headers",
      columns,
    ]);
    const names = found.trim().split("\n");
    expect(names.map((line) => line.split(/ +/).join(" ")).toSorted()).toEqual(wanted);
    await kubectl(cluster.controlPlane, ["delete", ...selected]);
  });
});
