import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { budgetsIn, linesOfProducts, productOf } from "./products.ts";
import { sourceFiles } from "./source-files.ts";

const page = readFileSync(new URL("../../CONTRIBUTING.md", import.meta.url), "utf8");
const budgets = budgetsIn(page);
const lines = linesOfProducts(sourceFiles);

test("each file of src belongs to a product", () => {
  expect(sourceFiles.filter(({ path }) => productOf(path) === undefined)).toEqual([]);
  expect(productOf("somewhere/else.ts")).toBeUndefined();
});

test("CONTRIBUTING.md has a budget for each product, and for no other", () => {
  expect([...budgets.keys()]).toEqual([...lines.keys()]);
});

describe("a product stays within its budget, and uses nine tenths of it:", () => {
  test.each([...lines])("%s", (product, count) => {
    const budget = budgets.get(product) ?? 0;
    expect(count).toBeLessThanOrEqual(budget);
    expect(count).toBeGreaterThan(0.9 * budget);
  });
});
