import { describe, expect, test } from "vitest";
import { cleanupFinalizer } from "../../src/api/names.ts";
import { resources } from "../../src/api/resources.ts";
import { deletionOf, finalize, noteFinalized } from "../../src/controllers/finalization.ts";
import { newMemory } from "../../src/controllers/memory.ts";
import { type Answer, isAsk, questionKey } from "../../src/controllers/question.ts";
import { granteeOfRoleBinding } from "../../src/domain/grants/former-grantee.ts";
import type { FinalizationPhase } from "../../src/domain/plan/finalization.ts";
import { nothingToDo } from "../../src/domain/plan/plan.ts";
import { rawObject } from "../support/fake-list-watch.ts";
import { rawRequested } from "../support/requester-objects.ts";
import { fakeWorld } from "../support/world.ts";

const grantee = (binding: string, name = "ann") =>
  granteeOfRoleBinding(
    { namespace: "team", name: binding },
    { subject: { kind: "User", name }, verb: "get" },
  );
const ref = { namespace: "team", name: "db", uid: "uid-db" };
const grantees = Array.from({ length: 20 }, (_, index) => grantee(`latchkey-db-${index}`));

describe("a finalization", () => {
  async function setup(settleMs = 2_000) {
    const { clock, world } = await fakeWorld({});
    /** Returns the phase; every review has this answer. */
    const observe = (grantsStand: boolean, seen = grantees, isHonoured = false) => {
      const answers = new Map<string, Answer>();
      let phase: FinalizationPhase | undefined;
      const plan = (reached: FinalizationPhase) => {
        phase = reached;
        return nothingToDo;
      };
      const deleting = { resource: resources.sharedSecrets, ref, grantsStand, settleMs, plan };
      const next = () => finalize({ ...deleting, grantees: seen }, world, answers);
      const decision = next();
      if (!isAsk(decision)) return { ...decision, phase, reviews: 0 };
      for (const question of decision.questions)
        answers.set(questionKey(question), { do: "review", isHonoured });
      return { ...next(), phase, reviews: decision.questions.length };
    };
    return { clock, observe };
  }

  test("releases an object after two settle times, and reviews at most sixteen of its grantees", async () => {
    const { clock, observe } = await setup();
    const requeue = { kind: "requeue-at", at: clock.now() + 2_000 };
    const kept = { kind: "keep-grants", until: 2_000 };
    expect(observe(true)).toMatchObject({ phase: kept, reviews: 0, result: requeue });
    clock.advance(2_000);
    expect(observe(true)).toMatchObject({ phase: { kind: "revoke" }, result: { kind: "done" } });
    expect(observe(false, [])).toMatchObject({
      phase: { kind: "settle", until: 4_000 },
      reviews: 0,
    });
    clock.advance(2_000);
    expect(observe(false, [])).toMatchObject({ phase: { kind: "release" }, reviews: 16 });
  });

  test("releases an object after a minute if the API server honours a grant until then", async () => {
    const { clock, observe } = await setup(0);
    const settling = { phase: { kind: "settle", until: 250 }, reviews: 16 };
    expect(observe(false, grantees, true)).toMatchObject(settling);
    clock.advance(60_000);
    expect(observe(false, grantees, true)).toMatchObject({ phase: { kind: "release" } });
  });

  test("releases an object without grantees without a review", async () => {
    const { observe } = await setup();
    expect(observe(false, [])).toMatchObject({ phase: { kind: "release" }, reviews: 0 });
  });
});

describe("what a leader knows of a deletion", () => {
  test("keeps the instant at which a deletion was first observed", async () => {
    const { world, clock } = await fakeWorld({});
    const seenAt = (uid: string) => deletionOf(uid, world).seenAt;
    expect(seenAt("a")).toBe(0);
    clock.advance(500);
    expect([seenAt("a"), seenAt("b")]).toEqual([0, 500]);
  });

  test.for(["ownedaccesskeys", "directclusterendpointtokens", "sharedsecrets"])(
    "forgets an object of %s that no longer exists",
    async (plural) => {
      const object = rawRequested("a", { metadata: { namespace: "team" } });
      const { world, listWatch } = await fakeWorld({ [plural]: [object] });
      const { deletions, waitingSince } = world.memory;
      deletionOf("uid-a", world);
      waitingSince.set("uid-a", 0);
      listWatch.emit(plural, "MODIFIED", object);
      expect([deletions.size, waitingSince.size]).toEqual([1, 1]);
      listWatch.emit(plural, "DELETED", object);
      expect([deletions.size, waitingSince.size]).toEqual([0, 0]);
    },
  );
});

describe("the objects with the finalizer", () => {
  const answer = (uid: string, finalizers: readonly string[]) =>
    rawObject({ name: uid, uid, finalizers });

  test("contains an object that was written with the finalizer, until a write removes it", () => {
    const memory = newMemory({ quotaExempt: [] });
    noteFinalized(resources.ownedAccessKeys, answer("a", [cleanupFinalizer]), memory);
    noteFinalized(resources.ownedAccessKeys, answer("b", ["another"]), memory);
    expect(["a", "b", "c"].map((uid) => memory.finalized.has(uid))).toEqual([true, false, false]);
    noteFinalized(resources.ownedAccessKeys, answer("a", []), memory);
    expect(memory.finalized.has("a")).toBe(false);
  });

  test("contains at most the last ten thousand objects", () => {
    const memory = newMemory({ quotaExempt: [] });
    for (let index = 0; index < 10_000; index += 1)
      noteFinalized(resources.ownedAccessKeys, answer(`u${index}`, [cleanupFinalizer]), memory);
    noteFinalized(resources.ownedAccessKeys, answer("u0", [cleanupFinalizer]), memory);
    noteFinalized(resources.ownedAccessKeys, answer("last", [cleanupFinalizer]), memory);
    expect(["u0", "u1", "u2", "last"].map((uid) => memory.finalized.has(uid))).toEqual([
      true,
      false,
      true,
      true,
    ]);
  });
});
