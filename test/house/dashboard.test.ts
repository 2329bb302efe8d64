import { expect, test } from "vitest";
import { dashboardPanels, type Panel } from "../support/dashboard.ts";
import { problemsOf, textsOf } from "../support/promql.ts";

const all = dashboardPanels();
const panels = all.filter(({ type }) => type !== "row");
const queries = panels.flatMap((panel) => panel.queries.map((query) => ({ ...panel, ...query })));

test.each(queries)("$title asks for metrics and labels that exist: $expr", ({ expr }) => {
  expect(problemsOf(expr)).toEqual([]);
});

/** A table has a column for each label instead of a legend. */
const named = queries.filter(({ type }) => type !== "table");
test.each(named)("$title names its series by all of their labels: $legend", ({ expr, legend }) => {
  const used = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label);
  const kept = textsOf(expr, "GroupingLabels").flatMap((labels) => labels.match(/\w+/g) ?? []);
  expect(new Set(used)).toEqual(new Set(kept.filter((label) => label !== "le")));
});

test("each panel has a query, and the data source of the variable", () => {
  expect(panels.length).toBeGreaterThan(0);
  for (const { queries: of, datasource } of panels) {
    expect(of).not.toEqual([]);
    expect(datasource).toEqual({ type: "prometheus", uid: "${datasource}" });
  }
});

test("each panel has its own number and its own place", () => {
  expect(placeProblems(all)).toEqual([]);
});

const place = { x: 0, y: 0, w: 12, h: 8 };
test.each([
  [{ id: 1, place: { ...place, x: 12 } }, "1 is twice"],
  [{ id: 2, place: { ...place, x: 11 } }, "2 overlaps 1"],
  [{ id: 2, place: { ...place, x: 13 } }, "2 is outside"],
  [{ id: NaN, place }, "NaN is outside"],
])("the check detects the problem of %j", (other, problem) => {
  expect(placeProblems([{ id: 1, place }, other])).toContain(problem);
});

/** What is wrong with the numbers and places of panels. */
function placeProblems(list: readonly Pick<Panel, "id" | "place">[]): readonly string[] {
  return list.flatMap(({ id, place: a }, index) => {
    const before = list.slice(0, index);
    const isInside = id > 0 && a.x >= 0 && a.y >= 0 && a.w > 0 && a.h > 0 && a.x + a.w <= 24;
    return [
      ...(isInside ? [] : [`${id} is outside`]),
      ...before.filter((other) => other.id === id).map(() => `${id} is twice`),
      ...before
        .filter(({ place: b }) => overlap(a.x, a.w, b.x, b.w) && overlap(a.y, a.h, b.y, b.h))
        .map((other) => `${id} overlaps ${other.id}`),
    ];
  });
}

function overlap(from: number, length: number, otherFrom: number, otherLength: number): boolean {
  return from < otherFrom + otherLength && otherFrom < from + length;
}
