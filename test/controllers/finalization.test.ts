import { expect, test } from "vitest";
import { resources } from "../../src/api/resources.ts";
import { Deletions } from "../../src/controllers/deletions.ts";
import { afterPhase, observeFinalization } from "../../src/controllers/finalization.ts";
import { granteeOfRoleBinding } from "../../src/domain/grants/former-grantee.ts";
import { TestClock } from "../support/test-clock.ts";
import { refusal, FakeClient } from "../support/fake-client.ts";

const ref = { namespace: "team", name: "db", uid: "uid-db" };
const grantees = Array.from({ length: 20 }, (_, index) =>
  granteeOfRoleBinding(
    { namespace: "team", name: `latchkey-db-${index}` },
    { subject: { kind: "User", name: "ann" }, verb: "get" },
  ),
);

function setup(answer: () => unknown, grantSettleTime = 2_000) {
  const [clock, client] = [new TestClock(), new FakeClient(answer)];
  const deps = { client, clock, deletions: new Deletions(clock), grantSettleTime };
  const observe = (grantsStand: boolean, seen = grantees) =>
    observeFinalization(
      { resource: resources.sharedSecrets, ref, grantsStand, grantees: seen },
      deps,
    );
  return { clock, client, deps, observe };
}

test("releases an object after two settle times, and reviews at most sixteen of its grantees", async () => {
  const { clock, client, deps, observe } = setup(() => ({ status: { allowed: false } }));
  const kept = await observe(true);
  expect([kept, afterPhase(kept, deps)]).toEqual([
    { kind: "keep-grants", until: 2_000 },
    { kind: "requeue-at", at: clock.now() + 2_000 },
  ]);
  clock.advance(2_000);
  const revoking = await observe(true);
  expect([revoking, afterPhase(revoking, deps)]).toEqual([{ kind: "revoke" }, { kind: "done" }]);
  expect(await observe(false, [])).toEqual({ kind: "settle", until: 4_000 });
  clock.advance(2_000);
  expect(client.lines).toEqual([]);
  expect(await observe(false, [])).toEqual({ kind: "release" });
  expect(client.lines).toEqual(Array.from({ length: 16 }, () => "review subjectaccessreviews "));
});

test("releases an object after a minute if reviews are rejected", async () => {
  const { clock, observe } = setup(() => refusal("Forbidden"), 0);
  expect(await observe(false)).toEqual({ kind: "settle", until: 250 });
  clock.advance(60_000);
  expect(await observe(false)).toEqual({ kind: "release" });
});

test("throws if a review fails", async () => {
  const failure = refusal("ServerError");
  await expect(setup(() => failure, 0).observe(false)).rejects.toBe(failure);
});

test("releases an object without grantees without a review", async () => {
  const { client, observe } = setup(() => ({}));
  expect([await observe(false, []), client.lines]).toEqual([{ kind: "release" }, []]);
});
