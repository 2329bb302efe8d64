import { expect, test } from "vitest";
import { type Resource, resources } from "../../../src/api/resources.ts";
import { exposeFreshness } from "../../../src/authn/access-key-cache.ts";
import {
  exposeWatches,
  interruptionCounter,
  watchReadings,
} from "../../../src/kube/informer/watch-metrics.ts";
import { createMetrics } from "../../../src/runtime/metrics.ts";
import { metricLines } from "../../support/metric-lines.ts";

const freshForMs = 30_000;

test("watchReadings returns the oldest watch of each resource, by the wall clock, and the number of objects", () => {
  const clock = { now: () => 1_000_000, monotonic: () => 50_000 };
  const informer = (openedAt: number | undefined, resource: Resource = resources.secrets) => ({
    resource,
    store: { size: 2 },
    watchState: { isSynced: true, openedAt, freshForMs },
  });
  expect(
    watchReadings(
      [informer(49_000), informer(40_000), informer(undefined, resources.namespaces)],
      clock,
    ),
  ).toEqual([
    { resource: "secrets", openedAt: 990, objects: 4 },
    { resource: "namespaces", openedAt: 0, objects: 2 },
  ]);
});

test("metrics of watches and caches are read on scrape", async () => {
  const metrics = createMetrics();
  let isFresh = true;
  exposeWatches(() => [{ resource: "secrets", openedAt: 1.5, objects: 7 }], metrics);
  interruptionCounter(metrics)("secrets", "Network");
  exposeFreshness({ isFresh: () => isFresh }, metrics);
  expect((await metrics.render()).text).toMatch(
    /latchkey_watch_opened_timestamp_seconds\{resource="secrets"\} 1.5[^]*latchkey_cache_fresh\{cache="accesskeys"\} 1/,
  );
  expect(
    await metricLines(metrics, /^latchkey_(?:watch_int|cache_obj).*(?:Network|Gone|\} 7)/),
  ).toEqual([
    'latchkey_watch_interruptions_total{resource="secrets",code="Network"} 1',
    'latchkey_watch_interruptions_total{resource="secrets",code="Gone"} 0',
    'latchkey_cache_objects{resource="secrets"} 7',
  ]);
  isFresh = false;
  expect((await metrics.render()).text).toContain('latchkey_cache_fresh{cache="accesskeys"} 0');
});
