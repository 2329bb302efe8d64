import { describe, expect, test } from "vitest";
import { parseGrantRole, parseOwners, parseRole, parseRoleBinding } from "../../src/api/role.ts";

const metadata = {
  namespace: "ns",
  name: "a",
  uid: "u",
  resourceVersion: "7",
  creationTimestamp: "2026-01-01T00:00:00Z",
};
const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "up" };

describe("parseRole", () => {
  test("returns empty lists for absent ones", () => {
    expect(parseRole({ metadata, rules: [{ verbs: ["get"] }] }).rules).toEqual([
      { apiGroups: [], resources: [], resourceNames: [], verbs: ["get"], nonResourceURLs: [] },
    ]);
  });

  test("returns every field", () => {
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

  test("returns no rules if there are none", () => {
    expect(parseRole({ metadata }).rules).toEqual([]);
  });
});

describe("parseRoleBinding", () => {
  test("returns every field, without empty fields of subjects, like the API server", () => {
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

  test("returns empty strings for absent fields", () => {
    expect(parseRoleBinding({ metadata, subjects: [{}] })).toMatchObject({
      roleRef: { apiGroup: "", kind: "", name: "" },
      subjects: [{ kind: "", name: "" }],
    });
  });
});

test("parseOwners returns controller and blockOwnerDeletion only if true, and omits invalid entries", () => {
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

describe("parseGrantRole", () => {
  test.each([
    [
      "reports a role with an aggregation rule as aggregated",
      { metadata, aggregationRule: {} },
      true,
    ],
    ["reports a role without an aggregation rule as not aggregated", { metadata }, false],
  ])("%s", (_rule, raw, aggregated) => {
    expect(parseGrantRole(raw)).toMatchObject({ aggregated, rules: [] });
  });

  test.each([undefined, {}, { metadata: {} }])("throws without metadata: %o", (raw) => {
    expect(() => parseGrantRole(raw)).toThrow("metadata.name is missing");
  });
});
