import { expect, test } from "vitest";
import { cleanupFinalizer } from "../../src/api/names.ts";
import { FinalizedObjects } from "../../src/controllers/finalized-objects.ts";
import { rawObject } from "../support/fake-list-watch.ts";

const answer = (uid: string, finalizers: readonly string[]) =>
  rawObject({ name: uid, uid, finalizers });

test("contains an object that was written with the finalizer, until a write removes it", () => {
  const finalized = new FinalizedObjects();
  finalized.note(answer("a", [cleanupFinalizer]));
  finalized.note(answer("b", ["another"]));
  expect(["a", "b", "c"].map((uid) => finalized.has(uid))).toEqual([true, false, false]);
  finalized.note(answer("a", []));
  expect(finalized.has("a")).toBe(false);
});

test("contains at most the last ten thousand objects", () => {
  const finalized = new FinalizedObjects();
  for (let index = 0; index < 10_000; index += 1)
    finalized.note(answer(`u${index}`, [cleanupFinalizer]));
  finalized.note(answer("u0", [cleanupFinalizer]));
  finalized.note(answer("last", [cleanupFinalizer]));
  expect(["u0", "u1", "u2", "last"].map((uid) => finalized.has(uid))).toEqual([
    true,
    false,
    true,
    true,
  ]);
});
