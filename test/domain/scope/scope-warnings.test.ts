import { describe, expect, test } from "vitest";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { scopeWarnings } from "../../../src/domain/scope/scope-warnings.ts";

const scopes = new Map<string, "Cluster" | "Namespaced">([
  ["/pods", "Namespaced"],
  ["/nodes", "Cluster"],
  ["/namespaces", "Cluster"],
  ["apps/deployments", "Namespaced"],
]);
const vocabulary = {
  isDefined: (role: string) => role === "viewer",
  scopeOf: (group: string, resource: string) => scopes.get(`${group}/${resource}`),
};
const warnings = (scope: unknown) => scopeWarnings(parseScopeLimit(scope), vocabulary);
const rule = (group: string, resources: readonly string[], namespaces: readonly string[] = []) => ({
  rules: [{}, { resources: [{ group, resources }], namespaces }],
});

describe("a scope warns of", () => {
  test.each<[string, unknown, string]>([
    [
      "a role that does not exist",
      { roles: [{ role: "viewer" }, { role: "serviceCLI" }, { role: "editor" }] },
      'spec.scope.roles: "editor" does not exist and covers nothing until a ClusterRole has the label management.service/scope-role with this value',
    ],
    [
      "a resource that is not served",
      rule("", ["pods", "pod"]),
      'spec.scope.rules[1]: the API server does not serve "pod", so the entry covers nothing',
    ],
    [
      "a resource of another group",
      rule("apps", ["pods/log"]),
      'spec.scope.rules[1]: the API server does not serve "pods.apps", so the entry covers nothing',
    ],
    [
      "namespaces of a cluster-scoped resource",
      rule("", ["nodes"], ["web"]),
      'spec.scope.rules[1]: "nodes" is not namespaced, so these namespaces do not cover it; add "" to namespaces',
    ],
    [
      "an empty namespace of a namespaced resource",
      rule("", ["pods"], [""]),
      'spec.scope.rules[1]: "pods" is namespaced, so namespaces [""] does not cover it; name its namespaces, or omit namespaces to cover all',
    ],
  ])("%s", (_what, scope, sentence) => {
    expect(warnings(scope)).toEqual([sentence]);
  });

  test.each<[string, unknown]>([
    ["no scope", undefined],
    ["an invalid scope", "all"],
    ["resources in their namespaces", rule("", ["pods", "pods/log"], ["web", ""])],
    ["resources without namespaces", rule("", ["pods", "nodes"])],
    ["cluster-scoped resources with an empty namespace", rule("", ["nodes"], [""])],
    ["the resource namespaces in a namespace", rule("", ["namespaces"], ["web"])],
    ["wildcards", rule("nowhere", ["*", "*/scale"], ["web"])],
    ["resources of impersonation", rule("", ["users"])],
  ])("nothing for %s", (_what, scope) => {
    expect(warnings(scope)).toEqual([]);
  });

  test("at most five things", () => {
    expect(warnings(rule("", ["a", "b", "c", "d", "e", "f"]))).toHaveLength(5);
  });
});
