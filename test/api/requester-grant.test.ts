import { describe, expect, test } from "vitest";
import { parseGrantBinding, parseGrantRole } from "../../src/api/requester-grant.ts";

const metadata = {
  name: "r",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
};

describe("a ClusterRole as it is read", () => {
  test.each([
    ["gathers its rules from others", { metadata, aggregationRule: {} }, true],
    ["has rules of its own", { metadata }, false],
  ])("%s", (_rule, raw, aggregated) => {
    expect(parseGrantRole(raw)).toMatchObject({ aggregated, rules: [] });
  });

  test.each([undefined, {}, { metadata: {} }])("must be an object with metadata: %o", (raw) => {
    expect(() => parseGrantRole(raw)).toThrow("metadata.name is missing");
  });
});

test("a ClusterRoleBinding as it is read has subjects and a role", () => {
  const subjects = [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "alice" }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "r" };
  expect(parseGrantBinding({ metadata, subjects, roleRef })).toMatchObject({ subjects, roleRef });
});
