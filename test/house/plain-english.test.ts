import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sourceFiles, typeScriptIn } from "./source-files.ts";

const repository = join(import.meta.dirname, "..", "..");
const pages = execFileSync("git", ["ls-files", "-z", "*.md"], { cwd: repository, encoding: "utf8" })
  .split("\0")
  .filter((path) => path !== "");

/** Prose without code blocks, code spans and paths of links. */
function proseOf(path: string): string {
  return readFileSync(join(repository, path), "utf8")
    .replaceAll(/^ *```.*?^ *```/gms, "")
    .replaceAll(/`[^`]*`/g, "")
    .replaceAll(/\]\([^)\s]*\)/g, "]");
}

/** Pronouns without a definite subject: a page names the user, the account or the process. */
const vague = /\b(?:whoever|somebody|someone|anybody|anyone|nobody|everybody|is told)\b/gi;

test("pages name the user or process that acts", () => {
  const found = pages.flatMap((path) =>
    [...proseOf(path).matchAll(vague)].map(([word]) => `${path}: ${word}`),
  );
  expect(pages.length).toBeGreaterThan(30);
  expect(found).toEqual([]);
});

type Count = readonly [path: string, word: string, count: number];

const self = "house/plain-english.test.ts";
/** Words with a standard term of the field, or a plain word, in their place. */
const replaced = /\b(?:told|twin|rival|junior|senior|eldest|whoever|strangers?|farewell)\b/gi;

/** How often each of these words occurs in a file, in alphabetical order. */
function replacedIn(path: string, text: string): readonly Count[] {
  const words = [...text.matchAll(replaced)].map(([word]) => word.toLowerCase());
  return [...new Set(words)]
    .toSorted()
    .map((word) => [path, word, words.filter((other) => other === word).length]);
}

describe("replaced words", () => {
  test("are not in test", () => {
    // This file lists the words.
    const files = typeScriptIn("test/").filter((path) => path !== self);
    expect(files.length).toBeGreaterThan(500);
    expect(
      files.flatMap((path) =>
        replacedIn(path, readFileSync(join(repository, "test", path), "utf8")),
      ),
    ).toEqual([]);
  });

  test("are not in src", () => {
    expect(sourceFiles.flatMap(({ path, text }) => replacedIn(path, text))).toEqual([]);
  });

  test("are found as whole words, in any case", () => {
    const breach =
      "// Told by a stranger.\nconst { rival } = told(this.#strangers, arrival, retold);";
    expect(replacedIn("breach.ts", breach)).toEqual([
      ["breach.ts", "rival", 1],
      ["breach.ts", "stranger", 1],
      ["breach.ts", "strangers", 1],
      ["breach.ts", "told", 2],
    ]);
  });
});
