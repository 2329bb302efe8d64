import { expect, test } from "vitest";
import { heldUntil, unconfirmedRemoval } from "../../../src/domain/outbox/cluster-wait.ts";
import { observedMetadata } from "../../support/observed-objects.ts";

const seenAt = 5_000;

test.for<[string, readonly (number | undefined)[], number | undefined]>([
  ["not without a cluster", [], undefined],
  ["for a cluster that is heard", [0], seenAt + 30_000],
  ["for a cluster that was heard 30 s ago", [30_000], seenAt + 30_000],
  ["not for one that was heard before that", [30_001], undefined],
  ["not for one that was never heard", [undefined], undefined],
  ["for one of several", [undefined, 90_000, 10_000], seenAt + 30_000],
])("a finalizer waits %s", ([, ages, wanted]) => {
  const holding = ages.map((heartbeatAgeMs) => ({ heartbeatAgeMs }));
  expect(heldUntil(seenAt, holding)).toBe(wanted);
});

test.for<[string, readonly string[], readonly string[], string]>([
  ["nothing without a cluster", [], [], ""],
  [
    "who has not confirmed it",
    ["a", "b", "c", "d", "e", "f"],
    [],
    'ClusterUnreachable The removal of the copies is not confirmed by: "a", "b", "c", "d", "e", ' +
      "1 more. The agent of each cluster removes them when it reads its outbox.",
  ],
  [
    "what the first cluster says that cannot remove them",
    ["a", "b"],
    ["b"],
    'RemovalBlocked The removal of the copies is not confirmed by: "a", "b". ' +
      'First: cluster "b": pay/db: kept',
  ],
])("the Event of a deletion says %s", ([, holding, names, wanted]) => {
  const report = { seen: "7", desired: 0, synced: 0, conflicts: 0, failed: 0 };
  const blocked = names.map((name) => ({ name, report: { ...report, message: "pay/db: kept" } }));
  const metadata = observedMetadata({ namespace: "team", name: "db" });
  const [write] = unconfirmedRemoval(metadata, { holding, blocked });
  const said = write?.do === "record-event" ? `${write.event.reason} ${write.event.note}` : "";
  expect(said).toBe(wanted);
});
