import { describe, expect, test } from "vitest";
import { parseGrantBinding, parseGrantRole } from "../../src/api/requester-grant.ts";

const metadata = {
  name: "r",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
};

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

test("parseGrantBinding returns subjects and roleRef", () => {
  const subjects = [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "alice" }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "r" };
  expect(parseGrantBinding({ metadata, subjects, roleRef })).toMatchObject({ subjects, roleRef });
});
