import { expect, onTestFinished, test } from "vitest";
import { annotations, labels, outboxSecretType } from "../../src/api/names.ts";
import { exposeOutboxes } from "../../src/controllers/outbox-metrics.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { syncedInformers } from "../support/fake-informers.ts";
import { rawObject, type RawObject } from "../support/fake-list-watch.ts";
import { metricLines } from "../support/metric-lines.ts";
import { rawCluster, rawHeartbeat, rawOutboxNamespace } from "../support/outbox-objects.ts";
import { TestClock } from "../support/test-clock.ts";

async function metricsOf(listed: Readonly<Record<string, readonly RawObject[]>>) {
  const { informers, listWatch, clock, stop } = await syncedInformers(listed);
  onTestFinished(() => stop.abort());
  const metrics = createMetrics();
  exposeOutboxes(informers.stores, clock, metrics);
  return {
    clock,
    listWatch,
    lines: () => metricLines(metrics, /^latchkey_(?:outbox|cluster_agent)_/),
  };
}

const inOutbox = (name: string, data: object, withdrawn?: string): RawObject =>
  rawObject(
    {
      namespace: "latchkey-cluster-east",
      name,
      labels: { [labels.outboxUid]: "uid" },
      annotations: withdrawn === undefined ? {} : { [annotations.withdrawn]: withdrawn },
    },
    { type: outboxSecretType, data },
  );

test("count the Secrets, withdrawals and bytes of each cluster with an outbox, and its heartbeat", async () => {
  const renewedAt = new TestClock().now() - 5_000;
  const { listWatch, lines } = await metricsOf({
    namespaces: [rawOutboxNamespace("east")],
    secrets: [
      rawCluster("east"),
      rawCluster("without-outbox"),
      inOutbox("one", { a: "YQ==" }),
      inOutbox("two", { abc: "YQ==" }),
      inOutbox("three", {}, "uid"),
    ],
    leases: [rawHeartbeat(renewedAt)],
  });
  expect(await lines()).toEqual([
    'latchkey_outbox_secrets{cluster="east"} 3',
    'latchkey_outbox_withdrawals{cluster="east"} 1',
    'latchkey_outbox_bytes{cluster="east"} 12',
    'latchkey_cluster_agent_heartbeat_age_seconds{cluster="east"} 5',
  ]);
  listWatch.emit(
    "secrets",
    "DELETED",
    rawObject({ ...rawCluster("east").metadata, resourceVersion: "9000000" }),
  );
  expect(await lines()).toEqual([]);
});

const heartbeatOf = (lines: readonly string[]) =>
  lines.flatMap(
    (line) => /^latchkey_cluster_agent_heartbeat_age_seconds.* (.+)$/.exec(line)?.[1] ?? [],
  );

test.each([
  ["ahead of this one", Date.parse("9999-01-01T00:00:00Z"), "0"],
  ["behind this one", new TestClock().now() - 3_600_000, "3600"],
])(
  "the age of a heartbeat grows until another write of the Lease, by a clock %s",
  async (_c, at, first) => {
    const { clock, listWatch, lines } = await metricsOf({
      namespaces: [rawOutboxNamespace("east")],
      secrets: [rawCluster("east")],
      leases: [rawHeartbeat(at)],
    });
    expect(heartbeatOf(await lines())).toEqual([first]);
    clock.advance(91_000);
    expect(heartbeatOf(await lines())).toEqual([String(Number(first) + 91)]);
    // It was written after the last scrape, at most.
    clock.advance(15_000);
    const { metadata, ...rest } = rawHeartbeat(at);
    listWatch.emit(
      "leases",
      "MODIFIED",
      rawObject({ ...metadata, resourceVersion: "9000001" }, rest),
    );
    const [age = ""] = heartbeatOf(await lines());
    expect(Number(age)).toBeLessThanOrEqual(15);
  },
);

test("name at most 100 clusters, those without a heartbeat for longest first", async () => {
  const names = Array.from({ length: 101 }, (_, at) => `east-${at}`);
  const now = new TestClock().now();
  const { lines } = await metricsOf({
    namespaces: names.map((name) => rawOutboxNamespace(name)),
    secrets: names.map((name) => rawCluster(name)),
    leases: names.slice(1).map((name, at) => rawHeartbeat(now - at * 1_000, name)),
  });
  const shown = (await lines()).filter((line) => line.startsWith("latchkey_outbox_secrets"));
  expect([shown.length, shown[0], shown[1]]).toEqual([
    100,
    'latchkey_outbox_secrets{cluster="east-0"} 0',
    'latchkey_outbox_secrets{cluster="east-100"} 0',
  ]);
  expect(shown.join()).not.toContain('"east-1"');
});
