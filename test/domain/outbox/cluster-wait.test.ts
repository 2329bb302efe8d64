import { expect, test } from "vitest";
import { heldUntil } from "../../../src/domain/outbox/cluster-wait.ts";

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
