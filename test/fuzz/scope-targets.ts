import fc from "fast-check";
import assert from "node:assert/strict";
import { isRecord } from "../../src/api/parse.ts";
import { parseScope, parseScopeLimit, scopeBounds, writeScope } from "../../src/api/scope.ts";
import { isGuardedNamespace } from "../../src/domain/scope/derived-credentials.ts";
import { narrows } from "../../src/domain/scope/narrows.ts";
import { anyRequest, anyScope } from "../domain/scope/arbitraries.ts";
import { anyPair } from "../domain/scope/narrower.ts";
import { secondOpinion } from "../domain/scope/second-opinion.ts";
import { context, isAllowed } from "../domain/scope/verdict-of.ts";
import { weighted } from "../support/weighted.ts";
import { hostileWord, spoiled } from "./hostile.ts";
import { expectNoPollution, type Target } from "./target.ts";

const words = (count: number): fc.Arbitrary<readonly string[]> =>
  fc
    .tuple(fc.nat(count), hostileWord)
    .map(([length, word]) =>
      Array.from({ length }, (_, index) => `${index % 7 === 0 ? word : index}`),
    );
/** Scopes up to and above the stored limits; comparing two of them has the highest cost. */
const largeScope = fc.record(
  {
    projects: words(600).map((names) => names.map((project) => ({ project }))),
    spaces: words(600).map((names) => names.map((space) => ({ project: "*", space }))),
    roles: words(600).map((names) => names.map((role) => ({ role: "viewer", projects: [role] }))),
    rules: fc.array(
      fc.record(
        {
          verbs: words(20),
          namespaces: words(20),
          nonResourceURLs: words(20),
          resources: fc.array(fc.record({ group: hostileWord, resources: words(20) }), {
            maxLength: 5,
          }),
          virtualClusters: words(20).map((names) => names.map((name) => ({ name }))),
        },
        { requiredKeys: [] },
      ),
      { maxLength: 66 },
    ),
  },
  { requiredKeys: [] },
);
const anyJson = weighted([2, spoiled(anyScope)], [1, spoiled(largeScope)]);

function isNarrower(child: unknown, parent: unknown): boolean {
  const isGuarded = (name: string): boolean => isGuardedNamespace(name, context.ownNamespace);
  return narrows(parseScopeLimit(child), parseScopeLimit(parent), isGuarded);
}

/** The scope engine, and the comparison of scopes. */
export const scopeTargets: readonly Target[] = [
  {
    name: "scope engine: agrees with the independent implementation",
    property: () =>
      fc.property(anyScope, anyRequest, (scope, request) =>
        assert.equal(isAllowed(scope, request), secondOpinion(scope, request)),
      ),
  },
  {
    name: "scope: any JSON is parsed as a scope within its limits that survives a round trip, or denies",
    property: () =>
      fc.property(anyJson, anyRequest, (raw, request) => {
        const scope = parseScope(raw);
        expectNoPollution();
        const isLet = isAllowed(raw, request);
        if (scope === undefined) return assert.equal(isLet, raw === undefined);
        assert.ok(scope.rules.length <= scopeBounds.rules);
        assert.deepEqual(parseScope(JSON.parse(JSON.stringify(writeScope(scope)))), scope);
        // Requests use a fixed set of names; a name that occurs in no request must not allow one.
        if (isLet && isRecord(raw)) assert.ok(isNarrower(raw, raw));
      }),
  },
  {
    name: "narrows: a request that the narrower scope allows, the wider one allows",
    property: () =>
      fc.property(
        anyPair,
        fc.array(anyRequest, { minLength: 6, maxLength: 6 }),
        ([child, parent], requests) => {
          if (!isNarrower(child, parent)) return;
          for (const request of requests)
            assert.ok(!isAllowed(child, request) || isAllowed(parent, request));
        },
      ),
  },
  {
    name: "narrows: scopes of any size can be compared, and each narrows itself",
    property: () =>
      fc.property(largeScope, largeScope, (one, other) => {
        isNarrower(one, other);
        assert.ok(isNarrower(one, one));
      }),
  },
];
