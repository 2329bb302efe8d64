import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import type { Metadata } from "../../../src/api/object.ts";
import {
  type Credentials,
  groupsOf,
  userAccess,
} from "../../../src/domain/access-key/user-access.ts";
import { observedMetadata } from "../../support/observed-objects.ts";

interface Made {
  readonly by?: string;
  readonly groups?: readonly string[];
  /** The name of its parent key. */
  readonly with?: string;
  readonly isDeleted?: boolean;
}

function metadata(
  name: string,
  { by = "admin", groups = [], with: parent, isDeleted = false }: Made,
): Metadata {
  return {
    ...observedMetadata({ name }),
    uid: `uid-${name}`,
    annotations: {
      [annotations.requester]: by,
      [annotations.requesterGroups]: groups.join("\n"),
      ...(parent === undefined ? {} : { [annotations.requesterKeyId]: `uid-${parent}` }),
    },
    ...(isDeleted ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
  };
}

const terms = { disabled: false, ttlAfterLastActivity: false, groups: [], scope: "none" } as const;
const key = (name: string, spec: object, made: Made = {}) => ({
  metadata: metadata(name, made),
  spec: { ...terms, ...spec },
});
const token = (name: string, made: Made) => ({ metadata: metadata(name, made) });
const ofTeam = { by: "management.service:team:web" };

function accessOf(credentials: Partial<Credentials>, prefixes = { user: "", team: "" }) {
  const all = { keys: [], tokens: [], ...credentials };
  const groups = [...groupsOf("alice", all), "known"];
  return userAccess({ name: "alice", groups, prefixes }, all).map(
    ({ object, state, reason }) => `${object.name ?? ""} ${state} ${reason}`,
  );
}

describe("of the access keys", () => {
  test.each<[string, ReturnType<typeof key>, string | undefined]>([
    ["that of the user is disabled", key("a", { user: "alice" }), "a disable ActsAsUser"],
    ["one with this subject, too", key("a", { subject: "alice" }), "a disable ActsAsUser"],
    [
      "one that the user requested, too",
      key("a", { user: "ci" }, { by: "alice" }),
      "a disable RequestedByUser",
    ],
    [
      "one that the user requested for its team, too",
      key("a", { team: "web" }, { by: "alice", groups: ["web"] }),
      "a disable RequestedByUser",
    ],
    [
      "one without a subject that the user requested, too",
      key("a", {}, { by: "alice" }),
      "a disable RequestedByUser",
    ],
    ["one that is disabled stays", key("a", { user: "alice", disabled: true }), "a ok Disabled"],
    [
      "one that is being deleted goes anyway",
      key("a", { user: "alice" }, { isDeleted: true }),
      "a info Terminating",
    ],
    ["that of a team of the user is listed", key("a", { team: "known" }), "a info ActsAsTeam"],
    ["that of another team is not", key("a", { team: "other" }), undefined],
    ["that of another user is not", key("a", { user: "alice2" }), undefined],
    ["one whose display name is the user's is not", key("a", { displayName: "alice" }), undefined],
  ])("%s", (_rule, one, said) => {
    expect(accessOf({ keys: [one] })).toEqual(said === undefined ? [] : [said]);
  });
});

describe("of the tokens", () => {
  test.each<[string, ReturnType<typeof token>, string | undefined]>([
    ["that of the user is deleted", token("t", { by: "alice" }), "t delete RequestedByUser"],
    [
      "one that is being deleted goes anyway",
      token("t", { by: "alice", isDeleted: true }),
      "t info Terminating",
    ],
    ["that of another user stays", token("t", { by: "bob" }), undefined],
    ["that of another team is not listed", token("t", ofTeam), undefined],
  ])("%s", (_rule, one, said) => {
    expect(accessOf({ tokens: [one] })).toEqual(said === undefined ? [] : [said]);
  });
});

test("a team is one of the user's if a key or token of the user records it", () => {
  const keys = [key("shared", { team: "web" })];
  const recorded = token("t", { by: "alice", groups: ["team:web"] });
  const prefixes = { user: "", team: "team:" };
  expect(accessOf({ keys, tokens: [recorded, token("theirs", ofTeam)] }, prefixes)).toEqual([
    "shared info ActsAsTeam",
    "t delete RequestedByUser",
    "theirs info ActsAsTeam",
  ]);
  expect(accessOf({ keys, tokens: [token("theirs", ofTeam)] }, prefixes)).toEqual([]);
});

test("a key acts as a user with the prefix of the cluster", () => {
  const keys = [key("a", { user: "alice" }), key("b", { user: "alice", team: "x" })];
  const oidc = { user: "oidc:", team: "" };
  expect(accessOf({ keys }, oidc)).toEqual([]);
  expect(
    userAccess({ name: "oidc:alice", groups: [], prefixes: oidc }, { keys, tokens: [] }),
  ).toMatchObject([{ reason: "ActsAsUser" }, { reason: "ActsAsUser" }]);
});

test("what was made with a key that ends is listed, and ends with it", () => {
  const keys = [
    key("own", { user: "alice" }),
    key("child", { team: "known" }, { by: "x", with: "own" }),
    key("grandchild", { user: "bob" }, { by: "y", with: "child" }),
    key("other", { user: "bob" }, { with: "unknown" }),
  ];
  const tokens = [token("far", { by: "z", with: "grandchild" })];
  expect(accessOf({ keys, tokens })).toEqual([
    "own disable ActsAsUser",
    "child info MadeWithKey",
    "grandchild info MadeWithKey",
    "far info MadeWithKey",
  ]);
});

test("keys that name each other as parents have an end", () => {
  const keys = [key("a", { user: "bob" }, { with: "b" }), key("b", { user: "bob" }, { with: "a" })];
  expect(accessOf({ keys, ownKeyId: "uid-a" })).toEqual([]);
});

test("the key that revokes comes last, behind those that it was made with", () => {
  const keys = [
    key("self", { user: "alice" }, { with: "parent" }),
    key("parent", { user: "alice" }),
    key("another", { user: "alice" }),
  ];
  const tokens = [token("t", { by: "alice" })];
  expect(
    accessOf({ keys, tokens, ownKeyId: "uid-self" }).map((line) => line.split(" ")[0]),
  ).toEqual(["another", "t", "parent", "self"]);
});
