import { expect, test } from "vitest";
import { deletionOf, noteDeletion } from "../../src/controllers/deletions.ts";
import { newMemory } from "../../src/controllers/memory.ts";
import {
  type FormerGrantee,
  granteeOfRoleBinding,
} from "../../src/domain/grants/former-grantee.ts";
import { rawRequested } from "../support/requester-objects.ts";
import { TestClock } from "../support/test-clock.ts";
import { fakeWorld } from "../support/world.ts";

const grantee = (binding: string, name = "ann") =>
  granteeOfRoleBinding(
    { namespace: "team", name: binding },
    { subject: { kind: "User", name }, verb: "get" },
  );

function setup() {
  const clock = new TestClock();
  const context = { clock, memory: newMemory({ quotaExempt: [] }) };
  const note = (uid: string, stand: boolean, grantees: readonly FormerGrantee[] = []) =>
    noteDeletion(uid, { stand, grantees }, context);
  return { clock, note, seenAt: (uid: string) => deletionOf(uid, context).seenAt };
}

test("keeps the instant at which a deletion was first observed", () => {
  const { clock, note, seenAt } = setup();
  expect(seenAt("a")).toBe(0);
  clock.advance(500);
  expect([seenAt("a"), seenAt("b"), note("a", true).seenAt]).toEqual([0, 500, 0]);
});

test.for(["ownedaccesskeys", "directclusterendpointtokens", "sharedsecrets"])(
  "forgets an object of %s that no longer exists",
  async (plural) => {
    const object = rawRequested("a", { metadata: { namespace: "team" } });
    const { world, listWatch } = await fakeWorld({ [plural]: [object] });
    deletionOf("uid-a", world);
    listWatch.emit(plural, "MODIFIED", object);
    expect(world.memory.deletions.size).toBe(1);
    listWatch.emit(plural, "DELETED", object);
    expect(world.memory.deletions.size).toBe(0);
  },
);

test("keeps the instant at which the last grant disappeared, and starts again if one reappears", () => {
  const { clock, note } = setup();
  const goneAt = [true, false, false, true, false].map((stand) => {
    clock.advance(100);
    return note("a", stand).grantsGoneAt;
  });
  expect(goneAt).toEqual([undefined, 200, 200, undefined, 500]);
  expect(["a", "b"].map((uid) => note(uid, false).hadGrants)).toEqual([true, false]);
});

test("keeps former grantees, one for each binding", () => {
  const { note } = setup();
  note("a", true, [grantee("one"), grantee("two")]);
  const { grantees } = note("a", false, [grantee("two", "ben")]);
  expect(grantees).toEqual([grantee("one"), grantee("two", "ben")]);
});
