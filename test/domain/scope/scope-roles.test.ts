import { describe, expect, test } from "vitest";
import type { PolicyRule } from "../../../src/api/role.ts";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { rolePermits, unknownRoles } from "../../../src/domain/scope/scope-roles.ts";
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
