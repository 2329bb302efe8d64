import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations, apiVersion, labels } from "../../../src/api/names.ts";
import type { Metadata } from "../../../src/api/object.ts";
import {
  parseRole,
  parseRoleBinding,
  type ObservedRole,
  type Subject,
} from "../../../src/api/role.ts";
import type { Grant } from "../../../src/domain/shared-secret/access-rules.ts";
import {
  bindingManifest,
  derivedName,
  derivedRoles,
  isAsWritten,
  isDerivedName,
  isMarked,
  roleManifest,
  sourceUidOf,
} from "../../../src/domain/shared-secret/derived-role.ts";
import { dataCopyRef } from "../../../src/domain/sync/data-copy.ts";
import { observedMetadata, asStored } from "../../support/observed-objects.ts";

const secret = observedMetadata({ namespace: "team", name: "database", uid: "uid-1" });
const user = (name: string): Subject => ({
  kind: "User",
  apiGroup: "rbac.authorization.k8s.io",
  name,
});
const readers: Grant = {
  permission: { verbs: ["get"], status: false },
  subjects: [user("ann")],
  label: "readers",
};
const [role = { name: "", permission: { verbs: [], status: false }, subjects: [], rules: "" }] =
  derivedRoles(secret, [readers]);

describe("the name of a derived Role", () => {
  const permissions = fc.record({
    verbs: fc.subarray(["delete", "get", "list", "patch", "update", "watch"], { minLength: 1 }),
    status: fc.boolean(),
    data: fc.constantFrom(undefined, true as const),
  });
  const secrets = fc.record({
    name: fc.constantFrom(
      "a",
      "database",
      "x".repeat(253),
      `${"y".repeat(36)}.-.${"z".repeat(50)}`,
    ),
    uid: fc.constantFrom("uid-1", "uid-2"),
  });

  test("differs for another permission or object, has at most 63 characters and is valid in Kubernetes", () => {
    fc.assert(
      fc.property(secrets, secrets, permissions, permissions, (one, other, ...given) => {
        const [first, second] = given.map(({ data, ...permission }) =>
          data === undefined ? permission : { ...permission, data },
        );
        if (first === undefined || second === undefined) throw new Error("no permission");
        const name = derivedName(one, first);
        expect(name.length).toBeLessThanOrEqual(63);
        expect(name).toMatch(/^latchkey-[a-z0-9]([-.a-z0-9]*[a-z0-9])?-[0-9a-f]{16}$/);
        const sameObject =
          one.uid === other.uid && one.name.slice(0, 37) === other.name.slice(0, 37);
        const samePermission =
          first.status === second.status &&
          given[0].data === given[1].data &&
          first.verbs.join() === second.verbs.join();
        expect(name === derivedName(other, second)).toBe(sameObject && samePermission);
      }),
    );
  });
});

describe("the Roles of grants", () => {
  test("are one for each permission, with the subjects and names of all its rules", () => {
    const roles = derivedRoles(secret, [
      { ...readers, subjects: [user("ben"), user("ann")] },
      { ...readers, subjects: [user("ann")], label: "auditors" },
      { permission: readers.permission, subjects: [user("cem")] },
      { permission: { verbs: ["update"], status: true }, subjects: [user("dia")], label: "owner" },
    ]);
    expect(
      roles.map(({ permission, subjects, rules }) => [
        permission.verbs,
        subjects.map(({ name }) => name),
        rules,
      ]),
    ).toEqual(
      expect.arrayContaining([
        [["get"], ["ann", "ben", "cem"], '["auditors","readers"]'],
        [["update"], ["dia"], '["owner"]'],
      ]),
    );
    expect(roles.map(({ name }) => name)).toEqual(roles.map(({ name }) => name).toSorted());
    expect(roles).toHaveLength(2);
  });

  test("have an annotation below the limit of the API server for any rule names", () => {
    const grants = Array.from({ length: 256 }, (_, index) => ({
      ...readers,
      label: `${index} ${"\u0001".repeat(5_000)}`,
    }));
    const [{ rules } = { rules: "" }] = derivedRoles(secret, grants);
    expect(Buffer.byteLength(rules)).toBeLessThan(200 * 1024);
    expect(JSON.parse(rules)).toHaveLength(256);
  });

  test("name this one object, and its status only if it is granted", () => {
    expect(roleManifest(secret, role)["rules"]).toEqual([
      {
        apiGroups: ["management.service"],
        resources: ["sharedsecrets"],
        resourceNames: ["database"],
        verbs: ["get"],
      },
    ]);
    const withStatus = { ...role, permission: { ...role.permission, status: true } };
    expect(roleManifest(secret, withStatus)).toMatchObject({
      rules: [{ resources: ["sharedsecrets", "sharedsecrets/status"] }],
    });
  });

  test("name the copy of a followed Secret for those who may get the SharedSecret", () => {
    const writers: Grant = {
      permission: { verbs: ["list", "update"], status: false },
      subjects: [user("ben")],
    };
    const copy = dataCopyRef(secret).name;
    const roles = derivedRoles(secret, [readers, writers], true);
    const rules = roles.map((one) => roleManifest(secret, one)["rules"]);
    expect(rules).toEqual(
      expect.arrayContaining([
        [
          expect.objectContaining({ resources: ["sharedsecrets"], verbs: ["get"] }),
          { apiGroups: [""], resources: ["secrets"], resourceNames: [copy], verbs: ["get"] },
        ],
        [expect.objectContaining({ resources: ["sharedsecrets"], verbs: ["list", "update"] })],
      ]),
    );
    const [plain, withCopy] = [[readers], [readers]].map(
      (grants, at) => derivedRoles(secret, grants, at === 1)[0]?.name,
    );
    expect(plain).not.toBe(withCopy);
    expect(derivedRoles(secret, [writers], true)).toEqual(derivedRoles(secret, [writers]));
  });

  test("and their RoleBindings have Latchkey's metadata and an owner reference", () => {
    for (const manifest of [
      roleManifest(secret, role),
      bindingManifest(secret, role, role.subjects),
    ]) {
      expect(manifest.metadata).toEqual({
        namespace: "team",
        name: role.name,
        labels: { [labels.sourceUid]: "uid-1" },
        annotations: { [annotations.source]: "database", [annotations.rules]: '["readers"]' },
        ownerReferences: [
          { apiVersion, kind: "SharedSecret", name: "database", uid: "uid-1", controller: true },
        ],
      });
    }
    expect(bindingManifest(secret, role, role.subjects)).toMatchObject({
      roleRef: { kind: "Role", name: role.name },
      subjects: role.subjects,
    });
  });
});

describe("a Role is as written", () => {
  const written = parseRole(asStored(roleManifest(secret, role)));
  const [
    rule = { apiGroups: [], resources: [], resourceNames: [], verbs: [], nonResourceURLs: [] },
  ] = written.rules;
  const statusRole = {
    ...role,
    permission: { verbs: ["get"], status: true },
    name: derivedName(secret, { verbs: ["get"], status: true }),
  };
  const [dataRole = role] = derivedRoles(secret, [readers], true);
  const withCopy = parseRole(asStored(roleManifest(secret, dataRole)));
  const [, copyRule = rule] = withCopy.rules;

  test.for<[string, ObservedRole, boolean]>([
    ["if it was not edited", written, true],
    ["with the status", parseRole(asStored(roleManifest(secret, statusRole))), true],
    ["with the copy of a followed Secret", withCopy, true],
    ["but not without that copy", { ...withCopy, rules: written.rules }, false],
    [
      "but not with a copy that its name does not say",
      { ...written, rules: withCopy.rules },
      false,
    ],
    [
      "but not with another Secret",
      { ...withCopy, rules: [rule, { ...copyRule, resourceNames: ["source"] }] },
      false,
    ],
    [
      "but not with a Secret beside the copy",
      {
        ...withCopy,
        rules: [rule, { ...copyRule, resourceNames: [...copyRule.resourceNames, "source"] }],
      },
      false,
    ],
    [
      "but not with another verb on the copy",
      { ...withCopy, rules: [rule, { ...copyRule, verbs: ["get", "list"] }] },
      false,
    ],
    [
      "but not with the rules in another order",
      { ...withCopy, rules: withCopy.rules.toReversed() },
      false,
    ],
    ["but not with a third rule", { ...withCopy, rules: [...withCopy.rules, copyRule] }, false],
    ["but not without rules", { ...written, rules: [] }, false],
    ["but not with an additional rule", { ...written, rules: [rule, rule] }, false],
    [
      "but not with another verb",
      { ...written, rules: [{ ...rule, verbs: ["get", "update"] }] },
      false,
    ],
    [
      "but not with another resource name",
      { ...written, rules: [{ ...rule, resourceNames: ["other"] }] },
      false,
    ],
    [
      "but not with another resource",
      { ...written, rules: [{ ...rule, resources: ["secrets"] }] },
      false,
    ],
    [
      "but not with more resources",
      { ...written, rules: [{ ...rule, resources: ["sharedsecrets", "sharedsecrets/status"] }] },
      false,
    ],
    [
      "but not with a path",
      { ...written, rules: [{ ...rule, nonResourceURLs: ["/metrics"] }] },
      false,
    ],
  ])("%s", ([, standing, expected]) => {
    expect(isAsWritten(secret, standing)).toBe(expected);
  });
});

describe("the metadata of a derived object", () => {
  const binding = parseRoleBinding(asStored(bindingManifest(secret, role, role.subjects)));
  const changed = (changes: Partial<Metadata>) => ({
    ...binding,
    metadata: { ...binding.metadata, ...changes },
  });

  test.for<[string, typeof binding, boolean]>([
    ["is complete if it was not edited", binding, true],
    [
      "is complete with additional labels",
      changed({ labels: { ...binding.metadata.labels, theirs: "x" } }),
      true,
    ],
    ["is incomplete without the label", changed({ labels: {} }), false],
    [
      "is incomplete without an annotation",
      changed({ annotations: { [annotations.source]: "database" } }),
      false,
    ],
    ["is incomplete without the owner reference", { ...binding, ownerReferences: [] }, false],
  ])("%s", ([, standing, expected]) => {
    expect(isMarked(secret, role, standing)).toBe(expected);
  });

  const owner = { apiVersion, kind: "SharedSecret", name: "database", uid: "uid-owner" };
  test.for<[string, typeof binding, string | undefined]>([
    [
      "by the owner reference before the label",
      { ...binding, ownerReferences: [owner] },
      "uid-owner",
    ],
    ["by the label without an owner reference", { ...binding, ownerReferences: [] }, "uid-1"],
    [
      "by the owner reference with an annotation if the label is missing",
      { ...changed({ labels: {} }), ownerReferences: [owner] },
      "uid-owner",
    ],
    [
      "not by an owner reference alone, which any tool may set",
      { ...changed({ labels: {}, annotations: {} }), ownerReferences: [owner] },
      undefined,
    ],
    [
      "not under a name of another form",
      { ...changed({ name: "latchkey-database" }), ownerReferences: [owner] },
      undefined,
    ],
    [
      "not by owners of other kinds",
      {
        ...changed({ labels: {} }),
        ownerReferences: [
          { ...owner, kind: "Pod" },
          { ...owner, apiVersion: "v1" },
        ],
      },
      undefined,
    ],
  ])("identifies the source %s", ([, standing, uid]) => {
    expect(sourceUidOf(standing)).toBe(uid);
  });
});

test("recognizes the names for the uid and every possible permission", () => {
  const names = [["get"], ["delete", "get", "list", "patch", "update", "watch"]].flatMap((verbs) =>
    [true, false].map((status) => derivedName(secret, { verbs, status })),
  );
  names.push(derivedName(secret, { verbs: ["get", "list"], status: true, data: true }));
  expect(names.map((name) => isDerivedName(secret, name))).toEqual(names.map(() => true));
  const noReader = derivedName(secret, { verbs: ["list"], status: false, data: true });
  expect(isDerivedName(secret, noReader)).toBe(false);
  expect([
    isDerivedName({ ...secret, uid: "uid-2" }, names[0] ?? ""),
    isDerivedName({ ...secret, name: "data" }, names[0] ?? ""),
    isDerivedName(secret, "latchkey-database-0123456789abcdef"),
  ]).toEqual([false, false, false]);
});

test("sets no permission without grants, and no namespace for an object without one", () => {
  expect(derivedRoles(secret, [])).toEqual([]);
  const { namespace: _, ...clusterScoped } = secret;
  expect(roleManifest(clusterScoped, role).metadata).not.toHaveProperty("namespace");
});
