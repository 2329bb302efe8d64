import { describe, expect, test } from "vitest";
import { parseMetadata } from "../../../src/api/parse.ts";
import type { PolicyRule } from "../../../src/api/role.ts";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { rolePermits, scopeRolesIn, unknownRoles } from "../../../src/domain/scope/scope-roles.ts";
import { resourceRequest } from "./requests.ts";

const own = "management.service";

describe("the built-in role serviceCLI", () => {
  const covers = (changes: Parameters<typeof resourceRequest>[0]) =>
    rolePermits("serviceCLI", resourceRequest(changes), new Map());

  test.each(["get", "list", "watch"])(
    "covers %s of SharedSecrets, their status, and namespaces",
    (verb) => {
      expect(covers({ verb, group: own, resource: "sharedsecrets" })).toBe(true);
      expect(covers({ verb, group: own, resource: "sharedsecrets", subresource: "status" })).toBe(
        true,
      );
      expect(covers({ verb, group: "", resource: "namespaces" })).toBe(true);
    },
  );

  test.each<[string, Parameters<typeof resourceRequest>[0]]>([
    ["another verb", { verb: "update", group: own, resource: "sharedsecrets" }],
    ["another verb on namespaces", { verb: "delete", group: "", resource: "namespaces" }],
    ["another kind", { group: own, resource: "ownedaccesskeys" }],
    ["another kind of the core group", { group: "", resource: "secrets" }],
    ["another subresource", { group: own, resource: "sharedsecrets", subresource: "scale" }],
    [
      "a connected cluster outside of projects",
      { target: "Cluster", group: own, resource: "sharedsecrets" },
    ],
  ])("does not cover %s", (_what, changes) => {
    expect(covers(changes)).toBe(false);
  });
});

test("a wildcard of subresources covers no resource without a subresource", () => {
  const rule: PolicyRule = {
    apiGroups: [""],
    resources: ["*/", "*/log"],
    resourceNames: [],
    verbs: ["get"],
    nonResourceURLs: [],
  };
  const covers = (subresource: string) =>
    rolePermits("logs", resourceRequest({ subresource }), new Map([["logs", [rule]]]));
  expect([covers("log"), covers("")]).toEqual([true, false]);
});

test("a role permits what any of its rules does, and what all of its ClusterRoles do", () => {
  const clusterRole = (name: string, role: string | undefined, verb: string) => ({
    metadata: parseMetadata({
      metadata: {
        name,
        uid: name,
        resourceVersion: "1",
        creationTimestamp: "2026-01-01T00:00:00Z",
        ...(role !== undefined && { labels: { "management.service/scope-role": role } }),
      },
    }),
    rules: [
      {
        apiGroups: [""],
        resources: ["pods"],
        verbs: [verb],
        resourceNames: [],
        nonResourceURLs: [],
      },
    ],
  });
  const roles = scopeRolesIn([
    ...[clusterRole("a", "pods", "get"), clusterRole("b", "pods", "list")],
    ...[clusterRole("c", "", "create"), clusterRole("d", undefined, "create")],
  ]);
  expect([...roles.keys()]).toEqual(["pods"]);
  const permitted = ["get", "list", "create"].filter((verb) =>
    rolePermits("pods", resourceRequest({ verb }), roles),
  );
  expect(permitted).toEqual(["get", "list"]);
});

describe("unknown roles", () => {
  const limit = (...roles: readonly string[]) =>
    parseScopeLimit({ roles: roles.map((role) => ({ role })) });

  test.each<[string, ReturnType<typeof limit>, readonly string[]]>([
    ["are listed once", limit("viewer", "nobody", "none", "nobody"), ["nobody", "none"]],
    ["do not include the built-in role", limit("serviceCLI", "viewer"), []],
    ["are empty without a scope", "none", []],
    ["are empty for an invalid scope", "unreadable", []],
  ])("%s", (_rule, scope, roles) => {
    expect(unknownRoles(scope, (role) => role === "viewer")).toEqual(roles);
  });
});
