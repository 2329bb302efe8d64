import { expect, test } from "vitest";
import { reportLines } from "./report-lines.ts";

const page = { file: "test/cli/page.test.ts", reason: "no Chromium is found" };
const one = { ...page, name: "one" };
const two = { ...page, name: "two" };
const old = { file: "test/a.test.ts", name: "old", reason: "before 1.36" };
const ran = { failed: [], passed: 7, expected: "" };

test("each reason has its count, the most frequent first", () => {
  const { lines, counts } = reportLines({ ...ran, skipped: [old, one, two] });
  expect(lines).toEqual(["skipped 2: no Chromium is found", "skipped 1: before 1.36"]);
  expect(counts).toBe("7 passed, 0 failed, 3 skipped");
});

test("a test may be skipped for the reason that the list has for its file", () => {
  const expected = `# comment\n${page.file}: ${page.reason}\n`;
  expect(reportLines({ ...ran, skipped: [one, two], expected }).unexpected).toEqual([]);
});

test.each([
  ["another reason", { ...one, reason: "Go is not installed" }],
  ["another file", { ...one, file: "test/b.test.ts" }],
])("a test that is skipped for %s is named", (_what, skipped) => {
  const expected = `${page.file}: ${page.reason}\n`;
  const { unexpected } = reportLines({ ...ran, skipped: [skipped], expected });
  expect(unexpected).toEqual([
    `failed: ${skipped.file} > one is skipped (${skipped.reason}), which test/support/expected-skips.txt lacks`,
  ]);
});

test("failures come first, and count", () => {
  const { lines, counts } = reportLines({ ...ran, failed: ["a > b"], skipped: [old] });
  expect(lines).toEqual(["failed: a > b", "skipped 1: before 1.36"]);
  expect(counts).toBe("7 passed, 1 failed, 1 skipped");
});
