import { describe, expect, test } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { outboxReconciler } from "../../src/controllers/kinds/outbox.ts";
import { rawObject, type RawObject } from "../support/fake-list-watch.ts";
import {
  outboxKeyOf,
  rawCluster,
  rawHeartbeat,
  rawOutboxNamespace,
  rawReport,
  rawReportOf,
  rawSent,
  rawShared,
} from "../support/outbox-objects.ts";
import { fakeWorld } from "../support/world.ts";

const key = outboxKeyOf("db");
const sourceReport = { seen: "1", desired: 1, synced: 1, conflicts: 0, failed: 0 };
const cluster = rawCluster("east", "web");
const namespace = rawOutboxNamespace("east");
const source = rawShared("db");
const base = { namespaces: [namespace], sharedsecrets: [source], secrets: [cluster] };

async function offered(): Promise<RawObject> {
  const { client, reconcile } = await fakeWorld(base);
  await reconcile(outboxReconciler, key);
  return rawSent(client.requests[0]?.body);
}
const secret = await offered();

const newer = ({ metadata, ...rest }: RawObject, changes: object = {}): RawObject =>
  rawObject({ ...metadata, resourceVersion: String(9_000_000), ...changes }, rest);

type Happened = readonly [
  plural: string,
  type: "ADDED" | "MODIFIED" | "DELETED",
  object: RawObject,
];

const all = `outbox ${key}`;
const status = "sharedSecret team/db in 100 ms";
const west = rawCluster("west", "web");

describe("a change enqueues", () => {
  test.for<[string, Happened, readonly string[]]>([
    [
      "a new source",
      ["sharedsecrets", "ADDED", rawShared("other")],
      [`outbox ${outboxKeyOf("other")} normal`],
    ],
    [
      "other data",
      ["sharedsecrets", "MODIFIED", newer(rawShared("db", { data: { a: "Yg==" } }))],
      [`${all} normal`],
    ],
    [
      "clusters that are not named any more, and those that are",
      ["sharedsecrets", "MODIFIED", newer(rawShared("db", { clusters: "west" }))],
      [`outbox ${outboxKeyOf("db", "west")} normal`, `${all} normal`],
    ],
    ["a source that is deleted", ["sharedsecrets", "DELETED", newer(source)], [`${all} normal`]],
    [
      "nothing for the status of a source",
      [
        "sharedsecrets",
        "MODIFIED",
        newer(rawObject(source.metadata, { ...source, status: { keys: 1 } })),
      ],
      [],
    ],
    [
      "a list of projects of a cluster",
      ["secrets", "MODIFIED", newer(rawCluster("east"))],
      ["outbox latchkey-cluster-east high", `${all} low`, status],
    ],
    [
      "a cluster that is disconnected",
      ["secrets", "DELETED", newer(cluster)],
      ["outbox latchkey-cluster-east high", `${all} low`, status],
    ],
    [
      "a cluster that no source names",
      ["secrets", "ADDED", west],
      ["outbox latchkey-cluster-west high"],
    ],
    [
      "the namespace of an outbox",
      ["namespaces", "MODIFIED", newer(rawOutboxNamespace("east", "uid-other"))],
      [`${all} low`, status],
    ],
    [
      "nothing for a label of this namespace",
      ["namespaces", "MODIFIED", newer(namespace, { labels: { team: "a" } })],
      [],
    ],
    [
      "a Secret of an outbox",
      ["secrets", "MODIFIED", newer(secret, { labels: { ...Object(secret.metadata["labels"]) } })],
      [`${all} high`, status],
    ],
    ["a Secret that is deleted", ["secrets", "DELETED", newer(secret)], [`${all} high`, status]],
    [
      "a report of a source",
      [
        "configmaps",
        "ADDED",
        rawReportOf("uid-db", { sources: new Map([["uid-db", sourceReport]]) }),
      ],
      [status],
    ],
    [
      "nothing for a report of another source",
      [
        "configmaps",
        "ADDED",
        rawReportOf("uid-x", { sources: new Map([["uid-x", sourceReport]]) }),
      ],
      [],
    ],
    [
      "what is done",
      ["configmaps", "ADDED", rawReportOf("uid-db", { done: new Map([["uid-db", "1"]]) })],
      [`${all} normal`],
    ],
    [
      "nothing for what is done in another cluster",
      [
        "configmaps",
        "ADDED",
        newer(rawReportOf("uid-db", { done: new Map([["uid-db", "1"]]) }), {
          namespace: "latchkey-cluster-west",
        }),
      ],
      [],
    ],
    [
      "what is unknown",
      ["configmaps", "ADDED", rawReportOf("uid-x", { unknown: new Map([["uid-x", "team/x"]]) })],
      [`outbox ${outboxKeyOf("x")} low`],
    ],
    [
      "why an agent writes nothing",
      ["configmaps", "ADDED", rawReport({ problem: { reason: "PoliciesMissing", message: "m" } })],
      [status],
    ],
    [
      "nothing for a ConfigMap with another name",
      [
        "configmaps",
        "ADDED",
        newer(rawReport({ unknown: new Map([["uid-x", "team/x"]]) }), { name: "report-16" }),
      ],
      [],
    ],
    [
      "nothing for a ConfigMap in another namespace",
      [
        "configmaps",
        "ADDED",
        newer(rawReport({ unknown: new Map([["uid-x", "team/x"]]) }), { namespace: "team" }),
      ],
      [],
    ],
    [
      "the first heartbeat",
      ["leases", "ADDED", rawHeartbeat(0)],
      ["outbox latchkey-cluster-east high"],
    ],
    [
      "nothing for a Lease with another name",
      ["leases", "ADDED", newer(rawHeartbeat(0), { name: "other" })],
      [],
    ],
  ])("%s", async ([, [plural, type, object], expected]) => {
    const { listWatch, enqueued } = await fakeWorld({ ...base, secrets: [cluster, secret] });
    enqueued.length = 0;
    listWatch.emit(plural, type, object);
    const others = enqueued.filter((line) => !/^(copy |sharedSecret \S+ high)/.test(line));
    expect(new Set(others)).toEqual(new Set(expected));
  });

  test("the Secrets that other outboxes have of a source, and an unknown source once", async () => {
    const left = newer(secret, { namespace: "latchkey-cluster-west", uid: "uid-left" });
    const { listWatch, enqueued } = await fakeWorld({ ...base, secrets: [cluster, left] });
    listWatch.emit("sharedsecrets", "MODIFIED", newer(rawShared("db", { data: { a: "Yg==" } })));
    expect(enqueued).toContain(`outbox ${outboxKeyOf("db", "west")} normal`);
    const unknown = rawReport({ unknown: new Map([["uid-x", "team/x"]]) });
    listWatch.emit("configmaps", "ADDED", unknown);
    listWatch.emit("configmaps", "MODIFIED", newer(unknown));
    expect(enqueued.filter((line) => line.endsWith(`${outboxKeyOf("x")} low`))).toHaveLength(1);
  });

  test("an unknown source whose list of clusters is invalid", async () => {
    const unknown = rawReport({ unknown: new Map([["uid-x", "team/x"]]) });
    const { listWatch, enqueued } = await fakeWorld({ ...base, configmaps: [unknown] });
    listWatch.emit("sharedsecrets", "ADDED", rawShared("x", { clusters: "ea st" }));
    expect(enqueued).toContain(`outbox ${outboxKeyOf("x")} normal`);
  });

  test("the clusters of a source that names all of them", async () => {
    const everywhere = { ...base, secrets: [cluster, west] };
    const { listWatch, enqueued } = await fakeWorld(everywhere);
    listWatch.emit("sharedsecrets", "ADDED", rawShared("all", { clusters: "*" }));
    expect(enqueued.filter((line) => line.startsWith("outbox"))).toEqual([
      `outbox ${outboxKeyOf("all", "east")} normal`,
      `outbox ${outboxKeyOf("all", "west")} normal`,
    ]);
    listWatch.emit("secrets", "ADDED", rawCluster("north", "web"));
    expect(enqueued).toContain(`outbox ${outboxKeyOf("all", "north")} low`);
  });

  test("the finalizer of a source that waits for its Secret", async () => {
    const deleting = rawShared("db", { deletionTimestamp: "2026-02-01T00:00:00Z" });
    const listed = { ...base, sharedsecrets: [deleting], secrets: [cluster, secret] };
    const { listWatch, enqueued } = await fakeWorld(listed);
    listWatch.emit("secrets", "DELETED", newer(secret));
    expect(enqueued).toContain("sharedSecret team/db high");
  });
});

test("a new leader enqueues each offer, each Secret, each unknown source and each agent", async () => {
  const unknown = rawReportOf("uid-x", { unknown: new Map([["uid-x", "team/x"]]) });
  const left = newer(secret, { name: "left", annotations: { [annotations.withdrawn]: "uid-y" } });
  const { enqueued, enqueueAll } = await fakeWorld({
    ...base,
    secrets: [cluster, left],
    configmaps: [unknown],
  });
  await enqueueAll();
  expect(new Set(enqueued.filter((line) => line.startsWith("outbox")))).toEqual(
    new Set([
      `${all} low`,
      "outbox latchkey-cluster-east/left low",
      `outbox ${outboxKeyOf("x")} low`,
      "outbox latchkey-cluster-east high",
    ]),
  );
});

test("the agent of a cluster enqueues its sources only when it is lost, and when it is back", async () => {
  const agent = "latchkey-cluster-east";
  const { clock, enqueued, listWatch, reconcile } = await fakeWorld(base);
  const beat = () => {
    const lease = rawHeartbeat(clock.now());
    listWatch.emit("leases", "MODIFIED", newer(lease, { resourceVersion: `9${clock.now()}` }));
  };
  const statuses = () => enqueued.filter((line) => line === status).length;
  beat();
  enqueued.length = 0;
  const due = { kind: "requeue-at", at: clock.now() + 90_001 };
  expect(await reconcile(outboxReconciler, agent)).toEqual(due);
  for (let beats = 0; beats < 3; beats += 1) {
    clock.advance(10_000);
    beat();
  }
  expect(enqueued).toEqual([]);
  clock.advance(90_001);
  expect(await reconcile(outboxReconciler, agent)).toEqual({ kind: "done" });
  expect(statuses()).toBe(1);
  beat();
  expect(enqueued).toContain(`outbox ${agent} high`);
  await reconcile(outboxReconciler, agent);
  expect(statuses()).toBe(2);
});
