import { expect, test } from "vitest";
import {
  type ClusterReadings,
  cutCounter,
  exposeClusters,
  gatewayMetrics,
} from "../../src/gateway/gateway-metrics.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { metricLines } from "../support/metric-lines.ts";

test("refusals and cuts are 0 from the start", async () => {
  const metrics = createMetrics();
  cutCounter(["denied"], metrics);
  gatewayMetrics(metrics).refused("limit", 429);
  expect(await metricLines(metrics, /^latchkey_(?:gateway_cuts|gateway_refusals.*"limit)/)).toEqual(
    [
      'latchkey_gateway_refusals_total{reason="limit",code="429"} 1',
      'latchkey_gateway_cuts_total{reason="denied"} 0',
    ],
  );
});

test("connected clusters that are gone have no series", async () => {
  const metrics = createMetrics();
  let named: ClusterReadings["named"] = [
    ["cluster/east", { isReachable: false, isThrottled: true }],
  ];
  const counts = () => ({ reachable: 4, unreachable: named.length });
  exposeClusters(() => ({ counts: counts(), expiring: named.length, named }), metrics);
  const shown = /^latchkey_connected/;
  const expiring = (count: number) =>
    `latchkey_objects{kind="Cluster",condition="Expiring",status="True",reason="Expiring"} ${count}`;
  expect(await metricLines(metrics, /^latchkey_objects/)).toEqual([expiring(1)]);
  expect(await metricLines(metrics, shown)).toEqual([
    'latchkey_connected_cluster_reachable{cluster="cluster/east"} 0',
    'latchkey_connected_cluster_throttled{cluster="cluster/east"} 1',
    'latchkey_connected_clusters{state="reachable"} 4',
    'latchkey_connected_clusters{state="unreachable"} 1',
  ]);
  named = [];
  expect(await metricLines(metrics, /^latchkey_objects/)).toEqual([expiring(0)]);
  expect(await metricLines(metrics, shown)).toEqual([
    'latchkey_connected_clusters{state="reachable"} 4',
    'latchkey_connected_clusters{state="unreachable"} 0',
  ]);
});
