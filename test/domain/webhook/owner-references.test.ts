import { expect, test } from "vitest";
import { newlyBlockedOwners } from "../../../src/domain/webhook/owner-references.ts";

const owner = (uid: string, blockOwnerDeletion?: boolean) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name: `name-${uid}`,
  uid,
  ...(blockOwnerDeletion === undefined ? {} : { blockOwnerDeletion }),
});
const owned = (...ownerReferences: readonly object[]) => ({ metadata: { ownerReferences } });

test.each<[string, unknown, unknown, readonly string[]]>([
  ["one that a create holds back", owned(owner("a", true)), undefined, ["a"]],
  ["none that is not held back", owned(owner("a", false), owner("b")), undefined, []],
  [
    "none that was held back before",
    owned(owner("b", true), owner("a", true)),
    owned(owner("a", true)),
    ["b"],
  ],
  ["one that was an owner and not held back", owned(owner("a", true)), owned(owner("a")), ["a"]],
  ["none where there are no owners", {}, {}, []],
  [
    "none in what is no reference",
    owned("a" as unknown as object, { blockOwnerDeletion: "true" }),
    undefined,
    [],
  ],
])("%s", (_rule, object, stored, uids) => {
  expect(newlyBlockedOwners(object, stored).map(({ uid }) => uid)).toEqual(uids);
});

test("any number of owners is read", () => {
  expect(
    newlyBlockedOwners(
      owned(...Array.from({ length: 20_000 }, (_, index) => owner(`${index}`, true))),
      undefined,
    ),
  ).toHaveLength(20_000);
});

test("an owner is told with its place in the list", () => {
  expect(newlyBlockedOwners(owned(owner("a"), owner("b", true)), undefined)).toEqual([
    { index: 1, apiVersion: "v1", kind: "ConfigMap", name: "name-b", uid: "b" },
  ]);
});
