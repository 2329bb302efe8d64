import { expect, test } from "vitest";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { dependsOnLabels } from "../../../src/domain/scope/entry-kinds.ts";
import { scopeOf } from "./scope-text.ts";

test.each([
  ["project web", true],
  ["space web/blue", true],
  ["virtualCluster web/vc", true],
  ["role viewer", true],
  ["cluster east", false],
  ["rule verbs=get", false],
  ["rule verbs=get + project web", true],
  ["empty", false],
])("whether %s goes by labels of namespaces: %s", (scope, depends) => {
  expect(dependsOnLabels(parseScopeLimit(scopeOf(scope)))).toBe(depends);
});

test("no scope and an invalid one go by no labels", () => {
  expect([dependsOnLabels("none"), dependsOnLabels("unreadable")]).toEqual([false, false]);
});
