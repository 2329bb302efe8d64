import { describe, expect, test } from "vitest";
import { parseOwners, parseRole, parseRoleBinding } from "../../src/api/role.ts";

const metadata = {
  namespace: "ns",
  name: "a",
  uid: "u",
  resourceVersion: "7",
  creationTimestamp: "2026-01-01T00:00:00Z",
};
const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "up" };

describe("a Role", () => {
  test("has empty lists where the API server leaves them out", () => {
    expect(parseRole({ metadata, rules: [{ verbs: ["get"] }] }).rules).toEqual([
      { apiGroups: [], resources: [], resourceNames: [], verbs: ["get"], nonResourceURLs: [] },
    ]);
  });

  test("is read whole", () => {
    const rule = {
      apiGroups: [""],
      resources: ["pods"],
      resourceNames: ["p"],
      verbs: ["get"],
      nonResourceURLs: ["/"],
    };
    const role = parseRole({ metadata: { ...metadata, ownerReferences: [owner] }, rules: [rule] });
    expect(role).toMatchObject({
      rules: [rule],
      ownerReferences: [owner],
      metadata: { name: "a" },
    });
  });

  test("without rules grants nothing", () => {
    expect(parseRole({ metadata }).rules).toEqual([]);
  });
});

describe("a RoleBinding", () => {
  test("is read whole, empty fields of a subject left out as the API server does", () => {
    const subjects = [
      { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "ann" },
      { kind: "ServiceAccount", apiGroup: "", name: "robot", namespace: "ci" },
      { kind: "User", name: "ben", namespace: "" },
    ];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "a" };
    expect(parseRoleBinding({ metadata, roleRef, subjects })).toMatchObject({
      roleRef,
      subjects: [
        subjects[0],
        { kind: "ServiceAccount", name: "robot", namespace: "ci" },
        { kind: "User", name: "ben" },
      ],
    });
  });

  test("of no shape at all names nobody", () => {
    expect(parseRoleBinding({ metadata, subjects: [{}] })).toMatchObject({
      roleRef: { apiGroup: "", kind: "", name: "" },
      subjects: [{ kind: "", name: "" }],
    });
  });
});

test("owners have their marks where they are true, and nothing of another shape", () => {
  const ownerReferences = [
    { ...owner, controller: true, blockOwnerDeletion: true },
    { ...owner, controller: false },
    "odd",
    {},
  ];
  expect(parseOwners({ metadata: { ownerReferences } })).toEqual([
    { ...owner, controller: true, blockOwnerDeletion: true },
    owner,
    { apiVersion: "", kind: "", name: "", uid: "" },
  ]);
  expect(parseOwners({})).toEqual([]);
});
