import { describe, expect, test } from "vitest";
import type { PolicyRule } from "../../../src/api/role.ts";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { roleCovers, unknownRoles } from "../../../src/domain/scope/roles.ts";
import { resourceRequest } from "./requests.ts";

const entry = (role: string) => ({ role, projects: [], virtualClusters: [] });
const own = "management.service";

describe("the built-in role serviceCLI", () => {
  const covers = (changes: Parameters<typeof resourceRequest>[0]) =>
    roleCovers(entry("serviceCLI"), resourceRequest(changes), new Map());

  test.each(["get", "list", "watch"])(
    "lets the command-line client %s SharedSecrets, their status, and namespaces",
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
    ["another target", { target: "Cluster", group: own, resource: "sharedsecrets" }],
  ])("does not cover %s", (_what, changes) => {
    expect(covers(changes)).toBe(false);
  });
});

test("a wildcard of subresources covers no resource without one", () => {
  const rule: PolicyRule = {
    apiGroups: [""],
    resources: ["*/", "*/log"],
    resourceNames: [],
    verbs: ["get"],
    nonResourceURLs: [],
  };
  const covers = (subresource: string) =>
    roleCovers(entry("logs"), resourceRequest({ subresource }), new Map([["logs", [rule]]]));
  expect([covers("log"), covers("")]).toEqual([true, false]);
});

describe("roles that nobody has defined", () => {
  const limit = (...roles: readonly string[]) =>
    parseScopeLimit({ roles: roles.map((role) => ({ role })) });

  test.each<[string, ReturnType<typeof limit>, readonly string[]]>([
    ["are told, each once", limit("viewer", "nobody", "none", "nobody"), ["nobody", "none"]],
    ["are not the built-in one", limit("serviceCLI", "viewer"), []],
    ["are none where there is no scope", "none", []],
    ["are none where the scope cannot be read", "unreadable", []],
  ])("%s", (_rule, scope, roles) => {
    expect(unknownRoles(scope, (role) => role === "viewer")).toEqual(roles);
  });
});
