import { expect, test } from "vitest";
import { resources } from "../../src/api/resources.ts";
import { afterPhase, observeFinalization } from "../../src/controllers/finalization.ts";
import { granteeOfRoleBinding } from "../../src/domain/grants/former-grantee.ts";
import { type Answer, isAsk, questionKey } from "../../src/controllers/question.ts";
import { fakeWorld } from "../support/world.ts";

const ref = { namespace: "team", name: "db", uid: "uid-db" };
const grantees = Array.from({ length: 20 }, (_, index) =>
  granteeOfRoleBinding(
    { namespace: "team", name: `latchkey-db-${index}` },
    { subject: { kind: "User", name: "ann" }, verb: "get" },
  ),
);

async function setup(settleMs = 2_000) {
  const { clock, world } = await fakeWorld({});
  /** Returns the phase; every review has this answer. */
  const observe = (grantsStand: boolean, seen = grantees, isHonoured = false) => {
    const deleting = { resource: resources.sharedSecrets, ref, grantsStand, settleMs };
    const answers = new Map<string, Answer>();
    const next = () => observeFinalization({ ...deleting, grantees: seen }, world, answers);
    const phase = next();
    if (!isAsk(phase)) return { phase, reviews: 0, result: afterPhase(phase, world) };
    for (const question of phase.questions)
      answers.set(questionKey(question), { do: "review", isHonoured });
    return { phase: next(), reviews: phase.questions.length };
  };
  return { clock, observe };
}

test("releases an object after two settle times, and reviews at most sixteen of its grantees", async () => {
  const { clock, observe } = await setup();
  const requeue = { kind: "requeue-at", at: clock.now() + 2_000 };
  const kept = { kind: "keep-grants", until: 2_000 };
  expect(observe(true)).toEqual({ phase: kept, reviews: 0, result: requeue });
  clock.advance(2_000);
  expect(observe(true)).toMatchObject({ phase: { kind: "revoke" }, result: { kind: "done" } });
  expect(observe(false, [])).toMatchObject({ phase: { kind: "settle", until: 4_000 }, reviews: 0 });
  clock.advance(2_000);
  expect(observe(false, [])).toEqual({ phase: { kind: "release" }, reviews: 16 });
});

test("releases an object after a minute if the API server honours a grant until then", async () => {
  const { clock, observe } = await setup(0);
  const settling = { phase: { kind: "settle", until: 250 }, reviews: 16 };
  expect(observe(false, grantees, true)).toEqual(settling);
  clock.advance(60_000);
  expect(observe(false, grantees, true)).toMatchObject({ phase: { kind: "release" } });
});

test("releases an object without grantees without a review", async () => {
  const { observe } = await setup();
  expect(observe(false, [])).toMatchObject({ phase: { kind: "release" }, reviews: 0 });
});
