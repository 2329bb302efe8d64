import { expect, onTestFinished, test } from "vitest";
import { ObjectCounts } from "../../src/controllers/object-counts.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { type FakeInformers, rawSharedSecret, syncedInformers } from "../support/fake-informers.ts";
import { rawObject, type RawObject } from "../support/fake-list-watch.ts";
import { TestClock } from "../support/test-clock.ts";

function withStatus(object: RawObject, status: object): RawObject {
  return rawObject(object.metadata, { ...object, metadata: {}, status });
}

const conditions = (ready: string, synced: string) => [
  {
    type: "Ready",
    status: "True",
    reason: ready,
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  },
  {
    type: "Synced",
    status: synced === "Synced" ? "True" : "False",
    reason: synced,
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  },
];

interface Counting extends Pick<FakeInformers, "listWatch"> {
  readonly lines: (name: RegExp) => Promise<readonly string[]>;
  readonly change: (plural: string, object: RawObject) => void;
}

/** Counts while informers list these objects; the watches end with the test. */
async function counting(listed: Parameters<typeof syncedInformers>[0]): Promise<Counting> {
  const metrics = createMetrics();
  const clock = new TestClock();
  const counts = new ObjectCounts(clock);
  counts.expose(metrics);
  const { listWatch, stop } = await syncedInformers(listed, (changed) => counts.record(changed));
  onTestFinished(() => stop.abort());
  return {
    listWatch,
    change: (plural, object) =>
      listWatch.emit(plural, "MODIFIED", {
        ...object,
        metadata: { namespace: "team", ...object.metadata },
      }),
    async lines(name) {
      const { text } = await metrics.render();
      return text
        .split("\n")
        .filter((line) => name.test(line))
        .toSorted();
    },
  };
}

test("counts objects and targets as they are created, changed and deleted; a group stays with 0", async () => {
  const { listWatch, lines, change } = await counting({
    sharedsecrets: [rawSharedSecret("a"), rawSharedSecret("b")],
    ownedaccesskeys: [rawObject({ name: "k" }, { spec: {} })],
  });
  const shown = /^latchkey_(?:objects|sync_targets)\{/;
  expect(await lines(shown)).toEqual([
    'latchkey_objects{kind="DirectClusterEndpointToken",condition="Ready",status="Unknown",reason=""} 0',
    'latchkey_objects{kind="OwnedAccessKey",condition="Ready",status="Unknown",reason=""} 1',
    'latchkey_objects{kind="SharedSecret",condition="Ready",status="Unknown",reason=""} 2',
    'latchkey_sync_targets{state="conflict"} 0',
    'latchkey_sync_targets{state="failed"} 0',
    'latchkey_sync_targets{state="pending"} 0',
    'latchkey_sync_targets{state="synced"} 0',
    'latchkey_sync_targets{state="unremoved"} 0',
  ]);
  const stuck = withStatus(rawSharedSecret("a"), {
    conditions: conditions("Ready", "Conflict"),
    sync: { desired: 3, synced: 1, conflicts: 2 },
  });
  change("sharedsecrets", stuck);
  expect(await lines(shown)).toEqual(
    expect.arrayContaining([
      'latchkey_objects{kind="SharedSecret",condition="Ready",status="True",reason="Ready"} 1',
      'latchkey_objects{kind="SharedSecret",condition="Ready",status="Unknown",reason=""} 1',
      'latchkey_objects{kind="SharedSecret",condition="Synced",status="False",reason="Conflict"} 1',
      'latchkey_sync_targets{state="conflict"} 2',
      'latchkey_sync_targets{state="synced"} 1',
    ]),
  );
  const named =
    'latchkey_object_not_ready{kind="SharedSecret",namespace="team",name="a",reason="Conflict"} 1';
  expect(await lines(/_not_ready[_{]/)).toContain(named);
  for (const name of ["a", "b"]) listWatch.emit("sharedsecrets", "DELETED", rawSharedSecret(name));
  expect((await lines(shown)).filter((line) => line.includes("SharedSecret"))).toEqual([
    'latchkey_objects{kind="SharedSecret",condition="Ready",status="True",reason="Ready"} 0',
    'latchkey_objects{kind="SharedSecret",condition="Ready",status="Unknown",reason=""} 0',
    'latchkey_objects{kind="SharedSecret",condition="Synced",status="False",reason="Conflict"} 0',
  ]);
  expect(await lines(shown)).toContain('latchkey_sync_targets{state="conflict"} 0');
  expect(await lines(/_not_ready\{/)).toEqual([]);
});

test("names 100 objects that are not ready, those that are longest, and says how many others there are", async () => {
  const stuck = (name: string) =>
    withStatus(rawSharedSecret(name), { conditions: conditions("Ready", "Failed") });
  const names = Array.from({ length: 102 }, (_, index) => `s-${String(index).padStart(3, "0")}`);
  const { lines, change } = await counting({ sharedsecrets: names.map(stuck) });
  expect(await lines(/_not_ready\{/)).toHaveLength(100);
  expect(await lines(/_omitted/)).toContain("latchkey_objects_not_ready_omitted 2");
  expect((await lines(/name="s-100"/)).length).toBe(0);
  change(
    "sharedsecrets",
    withStatus(rawSharedSecret("s-000"), { conditions: conditions("Ready", "Synced") }),
  );
  expect(await lines(/name="s-(?:000|100)"/)).toEqual([
    expect.stringContaining('name="s-100",reason="Failed"} 1'),
  ]);
  expect(await lines(/_omitted/)).toContain("latchkey_objects_not_ready_omitted 1");
});

test("counts keys and tokens whose lifetime ends soon, to the hour", async () => {
  const now = new TestClock().now();
  const ending = (name: string, days: number) =>
    rawObject(
      { name, namespace: "team" },
      { spec: {}, status: { expiresAt: new Date(now + days * 86_400_000).toISOString() } },
    );
  const expired = withStatus(ending("expired", 0), {
    conditions: [{ ...conditions("Expired", "Synced")[0], status: "False" }],
    expiresAt: new Date(now).toISOString(),
  });
  const { lines, change, listWatch } = await counting({
    ownedaccesskeys: [...[-2, 0.5, 3, 20, 400].map((days) => ending(`k${days}`, days)), expired],
  });
  const counted = async () =>
    (await lines(/^latchkey_objects_expiring\{kind="OwnedAccessKey"/)).map((line) =>
      line.slice(-1),
    );
  expect(await counted()).toEqual(["1", "3", "2"]);
  change("ownedaccesskeys", ending("k0.5", 400));
  listWatch.emit("ownedaccesskeys", "DELETED", ending("k3", 3));
  expect(await counted()).toEqual(["0", "1", "0"]);
  expect(await lines(/_expiring\{kind="DirectClusterEndpointToken"/)).toHaveLength(3);
});
