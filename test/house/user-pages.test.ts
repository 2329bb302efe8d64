import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../support/install.ts";
import { type UserPage, userPages } from "./user-pages.ts";

test("counts the words of the pages for users, with blocks and tables", () => {
  const words = userPages().map(
    ({ text }) => text.split(/\s+/).filter((word) => /\w/.test(word)).length,
  );
  const sum = words.reduce((total, count) => total + count, 0);
  process.stdout.write(`docs: ${sum} words for users in ${words.length} pages\n`);
  expect(words.filter((count) => count === 0)).toEqual([]);
});

test("no page for users but the threat model names a file of the sources or of the tests", () => {
  const naming = userPages().filter(
    ({ path, text }) => path !== "docs/threat-model.md" && /\b(?:src|test)\/[a-z]/.test(text),
  );
  expect(naming.map(({ path }) => path)).toEqual([]);
});

test("every decision is in the list by subject", () => {
  const list = readFileSync(join(repository, "docs/contributing/decisions.md"), "utf8");
  const listed = [...list.matchAll(/^- \[(.+)\]\(\.\.\/decisions\/(.+)\)$/gm)];
  const directory = join(repository, "docs/decisions");
  expect(listed.map(([, , file = ""]) => file).toSorted()).toEqual(
    readdirSync(directory).toSorted(),
  );
  for (const [, title = "", file = ""] of listed)
    expect(readFileSync(join(directory, file), "utf8")).toContain(`# ${title}\n`);
});

test("a page for users links to the glossary, or to the page of a term, where it first uses it", () => {
  const concepts = readFileSync(join(repository, "docs/concepts.md"), "utf8");
  const [, glossary = ""] = concepts.split("\n## Glossary\n");
  const terms = [...glossary.matchAll(/^\| ([a-z ]+?) +\| (.*) \|$/gm)].flatMap(
    ([, term = "", meaning = ""]) =>
      term === "term" ? [] : [{ term, home: /\]\(([\w-]+\.md)/.exec(meaning)?.[1] }],
  );
  expect(terms.length).toBeGreaterThan(20);
  const unexplained = userPages().flatMap((page) =>
    terms
      .filter(({ home }) => basename(page.path) !== home)
      .filter(({ term, home }) => !isExplained(page, term, home))
      .map(({ term }) => `${page.path}: ${term}`),
  );
  expect(unexplained).toEqual([]);
});

/** Whether a link to the glossary or to the page of a term is in the paragraph of its first use, or before. */
function isExplained({ path, text }: UserPage, term: string, home: string | undefined): boolean {
  if (["concepts.md", "README.md"].includes(basename(path))) return true;
  const paragraphs = text
    .replaceAll(/^ *```.*?^ *```/gms, "")
    .replaceAll(/^#.*$/gm, "")
    .split(/\n\n+/);
  const first = paragraphs.findIndex((paragraph) =>
    new RegExp(String.raw`\b${term}s?\b`).test(paragraph.replaceAll(/`[^`]*`/g, "")),
  );
  const read = first === -1 ? "" : paragraphs.slice(0, first + 1).join("\n");
  return first === -1 || /concepts\.md/.test(read) || (home !== undefined && read.includes(home));
}
