import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mistakes } from "../program/why-mistakes.ts";

const page = readFileSync(
  join(import.meta.dirname, "..", "..", "docs", "troubleshooting.md"),
  "utf8",
);

test("docs/troubleshooting.md has the mistakes that the tests make, in their order", () => {
  const headings = [...page.matchAll(/^### (.+)$/gm)].map(([, title]) => title);
  expect(headings).toEqual(mistakes.map(({ title }) => title));
  expect(headings.length).toBeGreaterThanOrEqual(20);
});

test("each mistake has what you see, in a row or a line, what why says, and what to do", () => {
  const sections = page.split(/^#{2,3} /m).filter((section) => section.includes("\nDo: "));
  expect(sections).toHaveLength(mistakes.length);
  const parts = [/^`why\b[^\n]*` says/m, /^Do: /m];
  const isSeen = (section: string): boolean =>
    /^You see: /m.test(section) || page.includes(`\n| [${titleOf(section)}](#`);
  const incomplete = sections.filter(
    (section) => !isSeen(section) || !parts.every((part) => part.test(section)),
  );
  expect(incomplete.map(titleOf)).toEqual([]);
});

function titleOf(section: string): string {
  return section.split("\n")[0] ?? "";
}
