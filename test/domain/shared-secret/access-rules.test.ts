import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AccessRule, type Owner, parseSharedSecret } from "../../../src/api/shared-secret.ts";
import type { Prefixes } from "../../../src/domain/access-key/key-identity.ts";
import {
  accessOf,
  distinct,
  subjectKey,
  explainAccess,
} from "../../../src/domain/shared-secret/access-rules.ts";
import { observedSource } from "../../support/observed-copies.ts";
import { cellsOf } from "../text-table.ts";

const none: Prefixes = { user: "", team: "" };
const all = ["delete", "get", "list", "patch", "update", "watch"];
const apiGroup = "rbac.authorization.k8s.io";
const ann = { kind: "User", apiGroup, name: "ann" };

function access({
  owner = {},
  rules = [],
  prefixes = none,
}: {
  owner?: Owner;
  rules?: readonly Partial<AccessRule>[];
  prefixes?: Prefixes;
}) {
  const whole = rules.map((rule) => ({
    verbs: ["get"],
    subresources: [],
    users: [],
    teams: [],
    ...rule,
  }));
  return accessOf(observedSource({ secret: { owner, access: whole } }).secret, prefixes);
}

const subjects = (users: readonly string[], teams: readonly string[] = [], prefixes = none) =>
  access({ rules: [{ users, teams }], prefixes }).grants[0]?.subjects;

test("grants nothing if neither the owner nor a rule names subjects", () => {
  expect(access({ rules: [{}] })).toEqual({
    grants: [],
    problems: [],
    emptyRules: ["spec.access[0]"],
  });
});

describe("the owner is granted all six verbs on the object and its status", () => {
  test.for<[string, Owner, readonly object[]]>([
    ["as a user", { user: "ann" }, [ann]],
    ["as a team", { team: "devs" }, [{ kind: "Group", apiGroup, name: "devs" }]],
    ["as both", { user: "ann", team: "devs" }, [{ kind: "Group", apiGroup, name: "devs" }, ann]],
  ])("%s", ([, owner, expected]) => {
    expect(access({ owner }).grants).toEqual([
      { permission: { verbs: all, status: true }, subjects: expected, label: "owner" },
    ]);
  });

  test("without affecting rules if its name is invalid, which is reported", () => {
    const { grants, problems } = access({
      owner: { user: "system:admin" },
      rules: [{ users: ["ann"] }],
    });
    expect(problems).toEqual([
      expect.stringMatching(
        /^spec\.owner\.user: "system:admin" is not supported: names that begin with "system:" are reserved/,
      ),
    ]);
    expect(grants).toHaveLength(1);
  });
});

describe("a rule grants", () => {
  test.for<[string, Partial<AccessRule>, object]>([
    [
      "its verbs once each, sorted",
      { verbs: ["watch", "get", "get"] },
      { verbs: ["get", "watch"], status: false },
    ],
    ["exactly six verbs for *", { verbs: ["get", "*"] }, { verbs: all, status: false }],
    [
      "the status for the subresource status",
      { subresources: ["status"] },
      { verbs: ["get"], status: true },
    ],
    ["the status for every subresource", { subresources: ["*"] }, { verbs: ["get"], status: true }],
  ])("%s", ([, rule, permission]) => {
    expect(access({ rules: [{ users: ["ann"], ...rule }] }).grants).toEqual([
      { permission, subjects: [ann] },
    ]);
  });

  test("with its name as label", () => {
    expect(access({ rules: [{ users: ["ann"], name: "readers" }] }).grants[0]?.label).toBe(
      "readers",
    );
  });
});

describe("a subject", () => {
  test.for<[string, readonly string[] | undefined, readonly object[]]>([
    ["is a user", ["ann"], [ann]],
    [
      "is every authenticated user for *",
      ["*"],
      [{ kind: "Group", apiGroup, name: "system:authenticated" }],
    ],
    [
      "is a service account in its namespace",
      ["system:serviceaccount:ci:builder.v1"],
      [{ kind: "ServiceAccount", namespace: "ci", name: "builder.v1" }],
    ],
    ["is listed once", ["ann", "ann"], [ann]],
  ])("%s", ([, users, expected]) => {
    expect(subjects(users ?? [])).toEqual(expected);
  });

  test("of a team is a group, and * means every authenticated user, too", () => {
    expect(subjects([], ["devs", "*"])).toEqual([
      { kind: "Group", apiGroup, name: "devs" },
      { kind: "Group", apiGroup, name: "system:authenticated" },
    ]);
  });

  test("has the configured prefix, except service accounts and *", () => {
    const named = subjects(["ann", "*", "system:serviceaccount:ci:builder"], ["devs"], {
      user: "u:",
      team: "t:",
    });
    expect(named?.map(({ name }) => name).toSorted()).toEqual([
      "builder",
      "system:authenticated",
      "t:devs",
      "u:ann",
    ]);
  });
});

describe("an invalid rule grants nothing, reports the fix and does not affect other rules", () => {
  const reserved = 'names that begin with "system:" are reserved';
  const oneObject = "is not supported because RBAC cannot limit it to one object";
  const account = "system:serviceaccount";

  test.for(
    cellsOf(`
      without verbs | verbs
        | spec.access[0].verbs: must not be empty; use delete, get, list, patch, update, watch, *
      with create | verbs=get,create
        | spec.access[0].verbs[1]: "create" ${oneObject}; must be one of
      with deletecollection | verbs=deletecollection
        | spec.access[0].verbs[0]: "deletecollection" ${oneObject}
      with an unknown verb | verbs=GET
        | spec.access[0].verbs[0]: "GET" is not supported; must be one of delete,
      with another subresource | subresources=scale
        | spec.access[0].subresources[0]: "scale" is not supported; must be status or *
      with a user that is reserved for Kubernetes | users=system:admin
        | "system:admin" is not supported: ${reserved}
      with a group that is reserved for Kubernetes | teams=system:masters
        | spec.access[0].teams[0]: "system:masters" is not supported: ${reserved}
      with a service account as a team | teams=${account}:ci:builder | ${reserved} for Kubernetes
      with an incomplete service account | users=${account}:ci | ${reserved} for Kubernetes
      with an invalid service account name | users=${account}:ci:builder..v1
        | ${reserved} for Kubernetes
      with a service account name that is too long | users=${account}:ci:${"b".repeat(254)}
        | ${reserved} for Kubernetes
      with a service account namespace that is too long
        | users=${account}:${"c".repeat(64)}:builder | ${reserved} for Kubernetes
      with an invalid service account namespace | users=${account}:Ci:builder
        | ${reserved} for Kubernetes
      with an empty user | users= | spec.access[0].users[0]: must not be empty
      with an empty team | teams= | spec.access[0].teams[0]: must not be empty
      with a name that is too long for the message | users=system:${"x".repeat(100)}
        | "system:${"x".repeat(57)}..."
    `),
  )("%s", ([, field = "", sentence]) => {
    const [name = "", values] = field.split("=");
    const rule = { [name]: values?.split(",") ?? [] };
    const { grants, problems } = access({
      rules: [{ users: ["ann"], ...rule }, { users: ["ben"] }],
    });
    expect(grants.map(({ subjects: granted }) => granted.map(({ name }) => name))).toEqual([
      ["ben"],
    ]);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(sentence);
    expect(problems[0]).toMatch(/^spec\.access\[0\]\.[a-z]+(?:\[\d\])?: /);
  });

  test("and its path is in the message", () => {
    expect(access({ rules: [{}, { name: "writers", verbs: [] }] }).problems[0]).toMatch(
      /^spec\.access\[1\]\.verbs: must not be empty/,
    );
  });

  test("also if only the prefix makes its name reserved", () => {
    expect(
      access({ rules: [{ users: ["admin"] }], prefixes: { user: "system:", team: "" } }).problems,
    ).toHaveLength(1);
  });
});

test("no rule grants access to reserved names, except service accounts and every authenticated user", () => {
  const words = fc.oneof(
    fc.string(),
    fc.constantFrom(
      "*",
      "system:masters",
      "system:serviceaccount:a:b",
      "system:serviceaccount::",
      "system:node:a",
      "ann",
    ),
  );
  const rule = fc.record({
    verbs: fc.subarray([...all, "*"], { minLength: 1 }),
    users: fc.array(words, { maxLength: 3 }),
    teams: fc.array(words, { maxLength: 3 }),
  });
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 4 }), (rules) => {
      const granted = access({ rules }).grants.flatMap((grant) => grant.subjects);
      expect(
        granted.filter(
          ({ name }) =>
            name === "" || (name.startsWith("system:") && name !== "system:authenticated"),
        ),
      ).toEqual([]);
    }),
  );
});

test("subjects are distinguished and sorted by kind, namespace and name", () => {
  const robot = { kind: "ServiceAccount", namespace: "ci", name: "ann" };
  expect(subjectKey(robot)).toBe("ServiceAccount/ci/ann");
  expect(distinct([ann, robot, { ...robot, namespace: "cd" }, ann]).map(subjectKey)).toEqual([
    "ServiceAccount/cd/ann",
    "ServiceAccount/ci/ann",
    "User//ann",
  ]);
});

describe("the limits of all rules together:", () => {
  const users = (count: number, first = 0): readonly string[] =>
    Array.from({ length: count }, (_, index) => `u${first + index}`);
  const rules = (count: number) => Array.from({ length: count }, () => ({ users: ["ann"] }));

  test("2000 users and teams are granted", () => {
    const { grants, problems } = access({
      rules: [{ users: users(1000) }, { users: users(500, 1000), teams: users(500) }],
    });
    expect([grants.flatMap(({ subjects: granted }) => granted).length, problems]).toEqual([
      2000,
      [],
    ]);
  });

  test("a rule that exceeds the limit is not granted, nor are those after it; the owner and earlier rules are", () => {
    const { grants, problems } = access({
      owner: { user: "ann" },
      rules: [{ users: users(2000) }, { teams: ["devs"] }, { users: ["bob"] }],
    });
    expect(grants.map(({ subjects: granted }) => granted.length)).toEqual([1, 2000]);
    expect(problems).toEqual([
      expect.stringMatching(
        /^spec\.access\[1\]: this rule and the rules before it name 2001 users and teams; must be at most 2000/,
      ),
    ]);
  });

  test("rules far beyond the limit are not read", () => {
    const endless = new Proxy(users(500_000), {
      get: (list, name) =>
        name === "length"
          ? list.length
          : (() => {
              throw new Error("was read");
            })(),
    });
    expect(access({ rules: [{ users: endless }] })).toMatchObject({
      grants: [],
      problems: [expect.stringContaining("500000 users and teams")],
    });
  });

  test("256 rules are granted, and no more", () => {
    expect(access({ rules: rules(256) })).toMatchObject({ grants: { length: 256 }, problems: [] });
    expect(access({ rules: rules(300) })).toMatchObject({
      grants: { length: 256 },
      problems: [
        "spec.access: has 300 rules; must have at most 256; the other rules are not granted",
      ],
    });
  });
});

function explained(spec: object) {
  const metadata = { namespace: "team", name: "db", uid: "u", resourceVersion: "1" };
  const raw = { metadata: { ...metadata, creationTimestamp: "2026-01-01T00:00:00Z" }, spec };
  return explainAccess(parseSharedSecret(raw), { user: "", team: "" });
}

test.for<[string, object, string, string]>([
  ["verb", { verbs: ["create"], users: ["bob"] }, "InvalidAccessRule", "spec.access[0].verbs[0]"],
  ["user", { verbs: ["get"], users: [""] }, "InvalidAccessRule", "spec.access[0].users[0]"],
  ["nobody", { verbs: ["get"] }, "EmptyAccessRule", "spec.access[0]"],
  ["nobody", { name: "a rule", verbs: ["get"] }, "EmptyAccessRule", "spec.access[0]"],
])("a rule that grants nothing is named by its field: %s", ([, rule, reason, field]) => {
  expect(explained({ access: [rule] })).toMatchObject([
    {
      state: reason === "EmptyAccessRule" ? "info" : "problem",
      reason,
      causes: [{ object: { namespace: "team", name: "db" }, field }],
    },
  ]);
});

test("a rule that grants is not mentioned", () => {
  expect(explained({ access: [{ verbs: ["get"], users: ["bob"] }] })).toEqual([]);
});
