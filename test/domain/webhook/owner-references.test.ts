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
  ["returns an owner that a create blocks", owned(owner("a", true)), undefined, ["a"]],
  [
    "ignores an owner without blockOwnerDeletion",
    owned(owner("a", false), owner("b")),
    undefined,
    [],
  ],
  [
    "ignores an owner that was blocked before",
    owned(owner("b", true), owner("a", true)),
    owned(owner("a", true)),
    ["b"],
  ],
  [
    "returns an existing owner that an update blocks",
    owned(owner("a", true)),
    owned(owner("a")),
    ["a"],
  ],
  ["returns nothing without owners", {}, {}, []],
  [
    "ignores invalid references",
    owned("a" as unknown as object, { blockOwnerDeletion: "true" }),
    undefined,
    [],
  ],
])("%s", (_rule, object, stored, uids) => {
  expect(newlyBlockedOwners(object, stored).map(({ uid }) => uid)).toEqual(uids);
});

test("reads any number of owners", () => {
  expect(
    newlyBlockedOwners(
      owned(...Array.from({ length: 20_000 }, (_, index) => owner(`${index}`, true))),
      undefined,
    ),
  ).toHaveLength(20_000);
});

test("returns the index of an owner in the list", () => {
  expect(newlyBlockedOwners(owned(owner("a"), owner("b", true)), undefined)).toEqual([
    { index: 1, apiVersion: "v1", kind: "ConfigMap", name: "name-b", uid: "b" },
  ]);
});
