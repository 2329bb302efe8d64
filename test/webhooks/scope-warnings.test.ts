import { expect, test } from "vitest";
import { newScopeWarnings } from "../../src/webhooks/scope-warnings.ts";
import { fakeReviewDeps } from "../support/review-fixture.ts";

const withScope = (scope: unknown) => ({ spec: { scope } });
const unknownRole = withScope({ roles: [{ role: "nobody" }] });
const served = {
  known: (_group: string, plural: string) =>
    plural === "namespaces" ? ("Cluster" as const) : undefined,
};

test.each<[string, object, object | undefined, number]>([
  ["a new scope", unknownRole, undefined, 1],
  ["a changed scope", unknownRole, withScope({}), 1],
  ["an unchanged scope", unknownRole, unknownRole, 0],
  ["an object without a scope", { spec: {} }, undefined, 0],
])("%s returns as many warnings as it is new", (_what, object, oldObject, count) => {
  expect(
    newScopeWarnings({ accessKeys: fakeReviewDeps({}).accessKeys, discovery: served })({
      object: { ...object },
      oldObject: oldObject && { ...oldObject },
    }),
  ).toHaveLength(count);
});

test("returns no warnings before the cache is fresh and discovery is loaded", () => {
  const request = { object: unknownRole, oldObject: undefined };
  expect(
    newScopeWarnings({
      accessKeys: fakeReviewDeps({ isCold: true }).accessKeys,
      discovery: served,
    })(request),
  ).toEqual([]);
  expect(
    newScopeWarnings({
      accessKeys: fakeReviewDeps({}).accessKeys,
      discovery: { known: () => undefined },
    })(request),
  ).toEqual([]);
});
