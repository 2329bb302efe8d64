import { expect, test } from "vitest";
import { Deletions } from "../../src/controllers/deletions.ts";
import { granteeOfRoleBinding } from "../../src/domain/grants/former-grantee.ts";
import { TestClock } from "../support/test-clock.ts";

const grantee = (binding: string, name = "ann") =>
  granteeOfRoleBinding(
    { namespace: "team", name: binding },
    { subject: { kind: "User", name }, verb: "get" },
  );

test("keeps the instant at which a deletion was first observed until the object is forgotten", () => {
  const clock = new TestClock();
  const deletions = new Deletions(clock);
  expect(deletions.seenAt("a")).toBe(0);
  clock.advance(500);
  expect([
    deletions.seenAt("a"),
    deletions.seenAt("b"),
    deletions.note("a", { stand: true, grantees: [] }).seenAt,
  ]).toEqual([0, 500, 0]);
  deletions.forget("a");
  expect(deletions.seenAt("a")).toBe(500);
});

test("keeps the instant at which the last grant disappeared, and starts again if one reappears", () => {
  const clock = new TestClock();
  const deletions = new Deletions(clock);
  const goneAt = [true, false, false, true, false].map((stand) => {
    clock.advance(100);
    return deletions.note("a", { stand, grantees: [] }).grantsGoneAt;
  });
  expect(goneAt).toEqual([undefined, 200, 200, undefined, 500]);
  expect([
    deletions.note("a", { stand: false, grantees: [] }).hadGrants,
    deletions.note("b", { stand: false, grantees: [] }).hadGrants,
  ]).toEqual([true, false]);
});

test("keeps former grantees, one for each binding", () => {
  const deletions = new Deletions(new TestClock());
  deletions.note("a", { stand: true, grantees: [grantee("one"), grantee("two")] });
  const { grantees } = deletions.note("a", { stand: false, grantees: [grantee("two", "ben")] });
  expect(grantees).toEqual([grantee("one"), grantee("two", "ben")]);
});
