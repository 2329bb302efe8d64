import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import type { ScopedRequest } from "../../../src/domain/scope/request.ts";
import { scopeEntries } from "../../../src/domain/scope/scope-entries.ts";
import { anyRequest, anyScope } from "./arbitraries.ts";
import { pathRequest, resourceRequest } from "./requests.ts";
import { context, isAllowed } from "./verdict-of.ts";
import { runs } from "../../support/property-runs.ts";

const pods = { group: "", resources: ["pods"] };
const request = resourceRequest({ project: "web" });

describe("an entry that does not allow a request names its field", () => {
  test.for<[string, object, ScopedRequest, string, readonly string[], string | undefined]>([
    ["verb", { rules: [{ verbs: ["list"] }] }, request, "rules[0].verbs", ["list"], "get"],
    [
      "resource",
      { rules: [{ resources: [{ group: "apps" }] }] },
      request,
      "rules[0].resources",
      ["*.apps"],
      "pods",
    ],
    [
      "Secrets without their name",
      { rules: [{}] },
      resourceRequest({ resource: "secrets" }),
      "rules[0].resources",
      [],
      "secrets",
    ],
    [
      "name",
      { rules: [{ resources: [pods], resourceNames: ["other"] }] },
      request,
      "rules[0].resourceNames",
      ["other"],
      "p",
    ],
    ["namespace", { rules: [{ namespaces: ["x"] }] }, request, "rules[0].namespaces", ["x"], "ns"],
    [
      "target",
      { rules: [{ requestTargets: ["Cluster"] }] },
      request,
      "rules[0].requestTargets",
      ["Cluster"],
      "Management",
    ],
    ["cluster", { rules: [{ cluster: "c" }] }, request, "rules[0].cluster", ["c"], undefined],
    [
      "virtual cluster",
      { rules: [{ virtualClusters: [{ name: "v", namespace: "n" }] }] },
      request,
      "rules[0].virtualClusters",
      ["n/v"],
      undefined,
    ],
    [
      "path",
      { rules: [{ nonResourceURLs: ["/metrics"] }] },
      pathRequest("/custom"),
      "rules[0].nonResourceURLs",
      ["/metrics"],
      "/custom",
    ],
    [
      "a rule for resources and a path",
      { rules: [{ resources: [pods] }] },
      pathRequest("/custom"),
      "rules[0].nonResourceURLs",
      [],
      "/custom",
    ],
    [
      "a rule for paths and a resource",
      { rules: [{ nonResourceURLs: ["/metrics"] }] },
      request,
      "rules[0].resources",
      [],
      "pods",
    ],
    ["project", { projects: [{ project: "pay" }] }, request, "projects[0].project", ["pay"], "web"],
    [
      "space",
      { spaces: [{ project: "web", space: "s" }] },
      request,
      "spaces[0].space",
      ["s"],
      undefined,
    ],
    [
      "virtual cluster of a project",
      { virtualClusters: [{ project: "web", virtualCluster: "v" }] },
      request,
      "virtualClusters[0].virtualCluster",
      ["v"],
      undefined,
    ],
    [
      "connected cluster",
      { clusters: [{ cluster: "east" }] },
      resourceRequest({ target: "Cluster", cluster: "west" }),
      "clusters[0].cluster",
      ["east"],
      "west",
    ],
    ["role", { roles: [{ role: "no" }] }, request, "roles[0].role", ["no"], undefined],
    [
      "project of a role",
      { roles: [{ role: "viewer", projects: ["pay"] }] },
      request,
      "roles[0].projects",
      ["pay"],
      "web",
    ],
  ])("%s", ([, scope, asked, field, found, wanted]) => {
    const [entry] = scopeEntries(parseScopeLimit(scope), asked, context);
    const named = wanted === undefined ? {} : { wanted };
    // Other fields may not match, too: a request outside a project has no space, either.
    expect(entry).toMatchObject({ isAllowed: false });
    expect(entry?.mismatches).toContainEqual({ field: `spec.scope.${field}`, found, ...named });
  });
});

test("no field is named where no entry of the kind can allow the request", () => {
  const escape = resourceRequest({ verb: "delete", resource: "namespaces", project: "web" });
  const scope = parseScopeLimit({ projects: [{ project: "*" }] });
  expect(scopeEntries(scope, escape, context)).toEqual([
    { field: "spec.scope.projects[0]", isAllowed: false, mismatches: [] },
  ]);
});

test("entries have the verdicts of the scope engine, and each denial names its fields", () => {
  fc.assert(
    fc.property(anyScope, anyRequest, (scope, asked) => {
      const limit = parseScopeLimit(scope);
      for (const { field, isAllowed: isSo, mismatches } of scopeEntries(limit, asked, context)) {
        const [list = "", at = ""] = field.split(/[.[\]]/).slice(2);
        const entries: unknown = Object.entries(scope).find(([name]) => name === list)?.[1];
        const alone = Array.isArray(entries) ? { [list]: [entries[Number(at)]] } : undefined;
        // The deprecated flag is a role that no list has.
        const isListed = Array.isArray(entries) && Number(at) < entries.length;
        expect(isListed ? isAllowed(alone, asked) : isSo).toBe(isSo);
        expect(isSo && mismatches.length > 0).toBe(false);
      }
    }),
    runs(2_000),
  );
  expect(scopeEntries("none", request, context)).toEqual([]);
  expect(scopeEntries("unreadable", request, context)).toEqual([]);
});
