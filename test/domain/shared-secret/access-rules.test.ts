import fc from "fast-check";
import type { Prefixes } from "../../../src/domain/names.ts";
import { describe, expect, test } from "vitest";
import type { AccessRule, Owner } from "../../../src/api/shared-secret.ts";
import { accessOf, distinct, subjectKey } from "../../../src/domain/shared-secret/access-rules.ts";
import { observedSource } from "../../support/observed-copies.ts";

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

test("nobody is granted anything where neither owner nor rule names anybody", () => {
  expect(access({ rules: [{}] })).toEqual({
    grants: [],
    problems: [],
    emptyRules: ["spec.access[0]"],
  });
});

describe("the owner holds all six verbs on the object and its status", () => {
  test.for<[string, Owner, readonly object[]]>([
    ["as a user", { user: "ann" }, [ann]],
    ["as a team", { team: "devs" }, [{ kind: "Group", apiGroup, name: "devs" }]],
    ["as both", { user: "ann", team: "devs" }, [{ kind: "Group", apiGroup, name: "devs" }, ann]],
  ])("%s", ([, owner, expected]) => {
    expect(access({ owner }).grants).toEqual([
      { permission: { verbs: all, status: true }, subjects: expected, label: "owner" },
    ]);
  });

  test("and a wrong name is told, and holds up no rule", () => {
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
    ["exactly the six that * means", { verbs: ["get", "*"] }, { verbs: all, status: false }],
    [
      "the status with the subresource status",
      { subresources: ["status"] },
      { verbs: ["get"], status: true },
    ],
    [
      "the status with every subresource",
      { subresources: ["*"] },
      { verbs: ["get"], status: true },
    ],
  ])("%s", ([, rule, permission]) => {
    expect(access({ rules: [{ users: ["ann"], ...rule }] }).grants).toEqual([
      { permission, subjects: [ann] },
    ]);
  });

  test("under its name", () => {
    expect(access({ rules: [{ users: ["ann"], name: "readers" }] }).grants[0]?.label).toBe(
      "readers",
    );
  });
});

describe("a subject", () => {
  test.for<[string, readonly string[] | undefined, readonly object[]]>([
    ["is a user", ["ann"], [ann]],
    [
      "is everybody who is known, for *",
      ["*"],
      [{ kind: "Group", apiGroup, name: "system:authenticated" }],
    ],
    [
      "is a service account of its namespace",
      ["system:serviceaccount:ci:builder.v1"],
      [{ kind: "ServiceAccount", namespace: "ci", name: "builder.v1" }],
    ],
    ["is named once", ["ann", "ann"], [ann]],
  ])("%s", ([, users, expected]) => {
    expect(subjects(users ?? [])).toEqual(expected);
  });

  test("is a group for a team, and * means the same there", () => {
    expect(subjects([], ["devs", "*"])).toEqual([
      { kind: "Group", apiGroup, name: "devs" },
      { kind: "Group", apiGroup, name: "system:authenticated" },
    ]);
  });

  test("has the prefix of its kind; service accounts and * have none", () => {
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

describe("a rule with a mistake grants nothing, says what to write, and holds up no other", () => {
  test.for<[string, Partial<AccessRule>, string]>([
    [
      "without verbs",
      { verbs: [] },
      "spec.access[0].verbs: must not be empty; use delete, get, list, patch, update, watch, *",
    ],
    [
      "with create",
      { verbs: ["get", "create"] },
      'spec.access[0].verbs[1]: "create" is not supported because RBAC cannot limit it to one object; must be one of',
    ],
    [
      "with deletecollection",
      { verbs: ["deletecollection"] },
      'spec.access[0].verbs[0]: "deletecollection" is not supported because RBAC cannot limit it to one object',
    ],
    [
      "with a verb that there is not",
      { verbs: ["GET"] },
      'spec.access[0].verbs[0]: "GET" is not supported; must be one of delete,',
    ],
    [
      "with another subresource",
      { subresources: ["scale"] },
      'spec.access[0].subresources[0]: "scale" is not supported; must be status or *',
    ],
    [
      "with a user of the system",
      { users: ["system:admin"] },
      '"system:admin" is not supported: names that begin with "system:" are reserved',
    ],
    [
      "with a group of the system",
      { teams: ["system:masters"] },
      'spec.access[0].teams[0]: "system:masters" is not supported: names that begin with "system:" are reserved',
    ],
    [
      "with a service account among the teams",
      { teams: ["system:serviceaccount:ci:builder"] },
      'names that begin with "system:" are reserved for Kubernetes',
    ],
    [
      "with a service account that is none",
      { users: ["system:serviceaccount:ci"] },
      'names that begin with "system:" are reserved for Kubernetes',
    ],
    [
      "with a service account of an impossible name",
      { users: ["system:serviceaccount:ci:builder..v1"] },
      'names that begin with "system:" are reserved for Kubernetes',
    ],
    [
      "with a service account of too long a name",
      { users: [`system:serviceaccount:ci:${"b".repeat(254)}`] },
      'names that begin with "system:" are reserved for Kubernetes',
    ],
    [
      "with a service account of too long a namespace",
      { users: [`system:serviceaccount:${"c".repeat(64)}:builder`] },
      'names that begin with "system:" are reserved for Kubernetes',
    ],
    [
      "with a service account in no namespace's name",
      { users: ["system:serviceaccount:Ci:builder"] },
      'names that begin with "system:" are reserved for Kubernetes',
    ],
    ["with an empty user", { users: [""] }, "spec.access[0].users[0]: must not be empty"],
    ["with an empty team", { teams: [""] }, "spec.access[0].teams[0]: must not be empty"],
    [
      "with a name that is too long to print",
      { users: [`system:${"x".repeat(100)}`] },
      `"system:${"x".repeat(57)}..."`,
    ],
  ])("%s", ([, rule, sentence]) => {
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

  test("and is named by its path", () => {
    expect(access({ rules: [{}, { name: "writers", verbs: [] }] }).problems[0]).toMatch(
      /^spec\.access\[1\]\.verbs: must not be empty/,
    );
  });

  test("also when only the prefix makes it a name of the system", () => {
    expect(
      access({ rules: [{ users: ["admin"] }], prefixes: { user: "system:", team: "" } }).problems,
    ).toHaveLength(1);
  });
});

test("whatever a rule says, nobody of the system but service accounts and everybody is granted anything", () => {
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

test("subjects are told apart by kind, namespace and name, and sorted", () => {
  const robot = { kind: "ServiceAccount", namespace: "ci", name: "ann" };
  expect(subjectKey(robot)).toBe("ServiceAccount/ci/ann");
  expect(distinct([ann, robot, { ...robot, namespace: "cd" }, ann]).map(subjectKey)).toEqual([
    "ServiceAccount/cd/ann",
    "ServiceAccount/ci/ann",
    "User//ann",
  ]);
});

describe("rules and subjects are bounded in sum:", () => {
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

  test("a rule with one more is not, nor are those after it; the owner and the rules before are", () => {
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

  test("what is far beyond is not read", () => {
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
