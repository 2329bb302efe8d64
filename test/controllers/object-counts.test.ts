import { expect, test } from "vitest";
import { ObjectCounts } from "../../src/controllers/object-counts.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { rawSharedSecret, syncedInformers } from "../support/fake-informers.ts";
import { rawObject, type RawObject } from "../support/fake-list-watch.ts";

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

test("counts objects and targets as they are created, changed and deleted", async () => {
  const metrics = createMetrics();
  const counts = new ObjectCounts(metrics);
  const { listWatch, stop } = await syncedInformers(
    {
      sharedsecrets: [rawSharedSecret("a"), rawSharedSecret("b")],
      ownedaccesskeys: [rawObject({ name: "k" }, { spec: {} })],
    },
    (changed) => counts.record(changed),
  );
  const lines = async (): Promise<readonly string[]> =>
    (await metrics.render()).text
      .split("\n")
      .filter((line) => /^latchkey_(objects|sync_targets)\{/.test(line))
      .toSorted();
  expect(await lines()).toEqual([
    'latchkey_objects{kind="OwnedAccessKey",condition="Ready",status="Unknown",reason=""} 1',
    'latchkey_objects{kind="SharedSecret",condition="Ready",status="Unknown",reason=""} 2',
    'latchkey_sync_targets{state="conflict"} 0',
    'latchkey_sync_targets{state="failed"} 0',
    'latchkey_sync_targets{state="pending"} 0',
    'latchkey_sync_targets{state="synced"} 0',
  ]);
  const stuck = withStatus(rawSharedSecret("a"), {
    conditions: conditions("Ready", "Conflict"),
    sync: { desired: 3, synced: 1, conflicts: 2 },
  });
  listWatch.emit("sharedsecrets", "MODIFIED", {
    ...stuck,
    metadata: { ...stuck.metadata, namespace: "team" },
  });
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'latchkey_objects{kind="SharedSecret",condition="Ready",status="True",reason="Ready"} 1',
      'latchkey_objects{kind="SharedSecret",condition="Ready",status="Unknown",reason=""} 1',
      'latchkey_objects{kind="SharedSecret",condition="Synced",status="False",reason="Conflict"} 1',
      'latchkey_sync_targets{state="conflict"} 2',
      'latchkey_sync_targets{state="synced"} 1',
    ]),
  );
  for (const name of ["a", "b"]) listWatch.emit("sharedsecrets", "DELETED", rawSharedSecret(name));
  expect((await lines()).filter((line) => line.includes("SharedSecret"))).toEqual([]);
  expect(await lines()).toContain('latchkey_sync_targets{state="conflict"} 0');
  stop.abort();
});
