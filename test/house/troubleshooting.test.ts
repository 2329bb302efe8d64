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

test("each mistake has what you see, what why says, and what to do", () => {
  const sections = page.split(/^#{2,3} /m).filter((section) => section.includes("You see:"));
  expect(sections).toHaveLength(mistakes.length);
  const parts = [/^You see: /m, /^`why\b[^\n]*` says/m, /^Do: /m];
  const incomplete = sections.filter((section) => !parts.every((part) => part.test(section)));
  expect(incomplete.map((section) => section.split("\n")[0])).toEqual([]);
});
