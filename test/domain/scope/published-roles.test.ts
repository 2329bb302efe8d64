import fc from "fast-check";
import { expect, test } from "vitest";
import type { PolicyRule } from "../../../src/api/role.ts";
import { mostRoleBytes, publishedRoles } from "../../../src/domain/scope/published-roles.ts";
import { runs } from "../../support/property-runs.ts";

const rule = (verb: string): PolicyRule => ({
  apiGroups: [""],
  resources: ["pods"],
  verbs: [verb],
  resourceNames: [],
  nonResourceURLs: [],
});
const ofBytes = (bytes: number) => [rule("x".repeat(bytes))];

test("roles are published in the order of their names", () => {
  const roles = new Map([
    ["viewer", [rule("get")]],
    ["editor", [rule("update")]],
  ]);
  expect(publishedRoles(roles)).toEqual({
    roles: [
      { role: "editor", rules: [rule("update")] },
      { role: "viewer", rules: [rule("get")] },
    ],
    omitted: [],
  });
});

test("the largest roles are left out by name if all are too large together", () => {
  const roles = new Map([
    ["b", ofBytes(mostRoleBytes)],
    ["a", ofBytes(mostRoleBytes / 2)],
    ["viewer", [rule("get")]],
    ["editor", [rule("update")]],
  ]);
  const { roles: published, omitted } = publishedRoles(roles);
  expect([published.map(({ role }) => role), omitted]).toEqual([["a", "editor", "viewer"], ["b"]]);
});

test("each role is published or left out, within the limit, whatever their order", () => {
  const sizes = fc.array(fc.nat({ max: 400 }), { maxLength: 6 });
  fc.assert(
    fc.property(sizes, (bytes) => {
      const roles = bytes.map((size, at) => [`role-${at}`, ofBytes(size)] as const);
      const { roles: published, omitted } = publishedRoles(new Map(roles), 1_000);
      const names = published.map(({ role }) => role);
      expect([...names, ...omitted].toSorted()).toEqual(roles.map(([name]) => name));
      expect(JSON.stringify(published.map(({ role, rules }) => [role, rules])).length).toBeLessThan(
        1_000 + names.length + 2,
      );
      expect(publishedRoles(new Map(roles.toReversed()), 1_000)).toEqual({
        roles: published,
        omitted,
      });
      const smallestOmitted = Math.min(...omitted.map((name) => bytes[Number(name.slice(5))] ?? 0));
      expect(names.every((name) => (bytes[Number(name.slice(5))] ?? 0) <= smallestOmitted)).toBe(
        true,
      );
    }),
    runs(300),
  );
});
