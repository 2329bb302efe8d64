import { expect, test } from "vitest";
import { cleanupFinalizer } from "../../src/api/names.ts";
import { FinalizedObjects } from "../../src/controllers/finalized-objects.ts";
import { rawObject } from "../support/fake-list-watch.ts";

const answer = (uid: string, finalizers: readonly string[]) =>
  rawObject({ name: uid, uid, finalizers });

test("contains an object that was written with the finalizer, until a write removes it", () => {
  const held = new FinalizedObjects();
  held.note(answer("a", [cleanupFinalizer]));
  held.note(answer("b", ["another"]));
  expect(["a", "b", "c"].map((uid) => held.has(uid))).toEqual([true, false, false]);
  held.note(answer("a", []));
  expect(held.has("a")).toBe(false);
});

test("contains at most the last ten thousand objects", () => {
  const held = new FinalizedObjects();
  for (let index = 0; index < 10_000; index += 1)
    held.note(answer(`u${index}`, [cleanupFinalizer]));
  held.note(answer("u0", [cleanupFinalizer]));
  held.note(answer("last", [cleanupFinalizer]));
  expect(["u0", "u1", "u2", "last"].map((uid) => held.has(uid))).toEqual([true, false, true, true]);
});
