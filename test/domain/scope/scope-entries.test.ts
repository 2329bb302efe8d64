import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { scopeEntries } from "../../../src/domain/scope/scope-entries.ts";
import { anyRequest, anyScope } from "./arbitraries.ts";
import { cellsOf } from "../text-table.ts";
import { requestOf, scopeOf } from "./scope-text.ts";
import { context, isAllowed } from "./verdict-of.ts";
import { runs } from "../../support/property-runs.ts";

const request = requestOf("pod project=web");

describe("an entry that does not allow a request names its field", () => {
  test.for(
    cellsOf(`
      verb | rule verbs=list | rules[0].verbs | list | get
      resource | rule resources=.apps | rules[0].resources | *.apps | pods
      name | rule resources=pods resourceNames=other | rules[0].resourceNames | other | p
      namespace | rule namespaces=x | rules[0].namespaces | x | ns
      target | rule requestTargets=Cluster | rules[0].requestTargets | Cluster | Management
      cluster | rule cluster=c | rules[0].cluster | c
      virtual cluster | rule virtualClusters=n/v | rules[0].virtualClusters | n/v
      a rule for paths and a resource | rule nonResourceURLs=/metrics | rules[0].resources | | pods
      project | project pay | projects[0].project | pay | web
      space | space web/s | spaces[0].space | s
      virtual cluster of a project | virtualCluster web/v | virtualClusters[0].virtualCluster | v
      role | role no | roles[0].role | no
      project of a role | role viewer projects=pay | roles[0].projects | pay | web
      Secrets without their name | rule | rules[0].resources | | secrets | get secrets p in ns
      path | rule nonResourceURLs=/metrics | rules[0].nonResourceURLs | /metrics | /custom
        | get /custom
      a rule for resources and a path | rule resources=pods | rules[0].nonResourceURLs | | /custom
        | get /custom
      connected cluster | cluster east | clusters[0].cluster | east | west
        | pod target=Cluster cluster=west
    `),
  )("%s", ([, scope = "", field, listed, wanted, asked = "pod project=web"]) => {
    const limit = parseScopeLimit(scopeOf(scope));
    const [entry] = scopeEntries(limit, requestOf(asked), context);
    const found = listed === "" ? [] : [listed];
    const named = wanted === undefined ? {} : { wanted };
    expect(entry).toMatchObject({ isAllowed: false });
    expect(entry?.mismatches).toEqual([{ field: `spec.scope.${field}`, found, ...named }]);
  });
});

test("no field is named where no entry of the kind can allow the request", () => {
  const escape = requestOf("delete namespaces p in ns project=web");
  const scope = parseScopeLimit({ projects: [{ project: "*" }] });
  expect(scopeEntries(scope, escape, context)).toEqual([
    { field: "spec.scope.projects[0]", isAllowed: false, mismatches: [] },
  ]);
});

test("no field of a role is named where nothing is in a project", () => {
  const asked = requestOf("pod target=Cluster cluster=east");
  const scope = parseScopeLimit({ roles: [{ role: "viewer", projects: ["web"] }] });
  expect(scopeEntries(scope, asked, context)).toEqual([
    { field: "spec.scope.roles[0]", isAllowed: false, mismatches: [] },
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

test("a scope with entries allows a request exactly if one of them does", () => {
  const often = runs(3_000);
  let allowed = 0;
  fc.assert(
    fc.property(anyScope, anyRequest, (scope, request) => {
      const entries = scopeEntries(parseScopeLimit(scope), request, context);
      const isOne = entries.some((entry) => entry.isAllowed);
      allowed += isOne ? 1 : 0;
      const isExpected = entries.length > 0 && isAllowed(scope, request);
      expect(isOne).toBe(isExpected);
    }),
    often,
  );
  expect(allowed).toBeGreaterThan(often.numRuns / 10);
});

test("there are no entries without a scope, or in an invalid one", () => {
  fc.assert(
    fc.property(anyRequest, (request) => {
      expect(scopeEntries("none", request, context)).toEqual([]);
      expect(scopeEntries("unreadable", request, context)).toEqual([]);
    }),
    runs(100),
  );
});
