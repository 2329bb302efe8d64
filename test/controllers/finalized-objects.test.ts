import { expect, test } from "vitest";
import { cleanupFinalizer } from "../../src/api/names.ts";
import { noteFinalized } from "../../src/controllers/finalized-objects.ts";
import { newMemory } from "../../src/controllers/memory.ts";
import { rawObject } from "../support/fake-list-watch.ts";

const answer = (uid: string, finalizers: readonly string[]) =>
  rawObject({ name: uid, uid, finalizers });

test("contains an object that was written with the finalizer, until a write removes it", () => {
  const memory = newMemory({ quotaExempt: [] });
  noteFinalized(answer("a", [cleanupFinalizer]), memory);
  noteFinalized(answer("b", ["another"]), memory);
  expect(["a", "b", "c"].map((uid) => memory.finalized.has(uid))).toEqual([true, false, false]);
  noteFinalized(answer("a", []), memory);
  expect(memory.finalized.has("a")).toBe(false);
});

test("contains at most the last ten thousand objects", () => {
  const memory = newMemory({ quotaExempt: [] });
  for (let index = 0; index < 10_000; index += 1)
    noteFinalized(answer(`u${index}`, [cleanupFinalizer]), memory);
  noteFinalized(answer("u0", [cleanupFinalizer]), memory);
  noteFinalized(answer("last", [cleanupFinalizer]), memory);
  expect(["u0", "u1", "u2", "last"].map((uid) => memory.finalized.has(uid))).toEqual([
    true,
    false,
    true,
    true,
  ]);
});
