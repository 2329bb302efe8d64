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
import { observedMetadata } from "../../support/observed-objects.ts";

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

function seen(manifest: object & { readonly metadata: object }): unknown {
  return {
    ...manifest,
    metadata: {
      uid: "uid-role",
      resourceVersion: "3",
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...manifest.metadata,
    },
  };
}

describe("the name of a derived Role", () => {
  const permissions = fc.record({
    verbs: fc.subarray(["delete", "get", "list", "patch", "update", "watch"], { minLength: 1 }),
    status: fc.boolean(),
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

  test("is another for another permission or object, has at most 63 characters and suits Kubernetes", () => {
    fc.assert(
      fc.property(secrets, secrets, permissions, permissions, (one, other, first, second) => {
        const name = derivedName(one, first);
        expect(name.length).toBeLessThanOrEqual(63);
        expect(name).toMatch(/^latchkey-[a-z0-9]([-.a-z0-9]*[a-z0-9])?-[0-9a-f]{16}$/);
        const sameObject =
          one.uid === other.uid && one.name.slice(0, 37) === other.name.slice(0, 37);
        const samePermission =
          first.status === second.status && first.verbs.join() === second.verbs.join();
        expect(name === derivedName(other, second)).toBe(sameObject && samePermission);
      }),
    );
  });
});

describe("grants become Roles", () => {
  test("one for each permission, with the subjects of all its rules and their names", () => {
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

  test("whose annotation stays below what the API server takes, whatever the rules are called", () => {
    const grants = Array.from({ length: 256 }, (_, index) => ({
      ...readers,
      label: `${index} ${"\u0001".repeat(5_000)}`,
    }));
    const [{ rules } = { rules: "" }] = derivedRoles(secret, grants);
    expect(Buffer.byteLength(rules)).toBeLessThan(200 * 1024);
    expect(JSON.parse(rules)).toHaveLength(256);
  });

  test("that name this one object, its status only where it is asked for", () => {
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

  test("and RoleBindings, both marked as derived from the object and owned by it", () => {
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

describe("a Role stands as written", () => {
  const written = parseRole(seen(roleManifest(secret, role)));
  const [
    rule = { apiGroups: [], resources: [], resourceNames: [], verbs: [], nonResourceURLs: [] },
  ] = written.rules;
  const statusRole = {
    ...role,
    permission: { verbs: ["get"], status: true },
    name: derivedName(secret, { verbs: ["get"], status: true }),
  };

  test.for<[string, ObservedRole, boolean]>([
    ["when nobody touched it", written, true],
    ["with the status", parseRole(seen(roleManifest(secret, statusRole))), true],
    ["but not without rules", { ...written, rules: [] }, false],
    ["but not with a rule more", { ...written, rules: [rule, rule] }, false],
    [
      "but not with another verb",
      { ...written, rules: [{ ...rule, verbs: ["get", "update"] }] },
      false,
    ],
    [
      "but not with another name",
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

describe("marks", () => {
  const binding = parseRoleBinding(seen(bindingManifest(secret, role, role.subjects)));
  const changed = (changes: Partial<Metadata>) => ({
    ...binding,
    metadata: { ...binding.metadata, ...changes },
  });

  test.for<[string, typeof binding, boolean]>([
    ["stand when they are as written", binding, true],
    [
      "stand beside what others add",
      changed({ labels: { ...binding.metadata.labels, theirs: "x" } }),
      true,
    ],
    ["do not stand without the label", changed({ labels: {} }), false],
    [
      "do not stand without an annotation",
      changed({ annotations: { [annotations.source]: "database" } }),
      false,
    ],
    ["do not stand without the owner", { ...binding, ownerReferences: [] }, false],
  ])("%s", ([, standing, expected]) => {
    expect(isMarked(secret, role, standing)).toBe(expected);
  });

  const owner = { apiVersion, kind: "SharedSecret", name: "database", uid: "uid-owner" };
  test.for<[string, typeof binding, string | undefined]>([
    [
      "record-event by the owner, before the label",
      { ...binding, ownerReferences: [owner] },
      "uid-owner",
    ],
    [
      "record-event by the label where there is no owner",
      { ...binding, ownerReferences: [] },
      "uid-1",
    ],
    [
      "record-event by the owner beside an annotation, where the label is lost",
      { ...changed({ labels: {} }), ownerReferences: [owner] },
      "uid-owner",
    ],
    [
      "record-event nothing by the owner alone, which any tool may name",
      { ...changed({ labels: {}, annotations: {} }), ownerReferences: [owner] },
      undefined,
    ],
    [
      "record-event nothing under a name of another form",
      { ...changed({ name: "latchkey-database" }), ownerReferences: [owner] },
      undefined,
    ],
    [
      "record-event nothing by owners of other kinds",
      {
        ...changed({ labels: {} }),
        ownerReferences: [
          { ...owner, kind: "Pod" },
          { ...owner, apiVersion: "v1" },
        ],
      },
      undefined,
    ],
  ])("%s whose a derived object is", ([, standing, uid]) => {
    expect(sourceUidOf(standing)).toBe(uid);
  });
});

test("a name follows from the uid and one of the permissions there are", () => {
  const names = [["get"], ["delete", "get", "list", "patch", "update", "watch"]].flatMap((verbs) =>
    [true, false].map((status) => derivedName(secret, { verbs, status })),
  );
  expect(names.map((name) => isDerivedName(secret, name))).toEqual(names.map(() => true));
  expect([
    isDerivedName({ ...secret, uid: "uid-2" }, names[0] ?? ""),
    isDerivedName({ ...secret, name: "data" }, names[0] ?? ""),
    isDerivedName(secret, "latchkey-database-0123456789abcdef"),
  ]).toEqual([false, false, false]);
});

test("a permission without grants is not made up, and an object without namespace names none", () => {
  expect(derivedRoles(secret, [])).toEqual([]);
  const { namespace: _, ...clusterScoped } = secret;
  expect(roleManifest(clusterScoped, role).metadata).not.toHaveProperty("namespace");
});
