import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const repository = join(import.meta.dirname, "..", "..");
const pages = execFileSync("git", ["ls-files", "-z", "*.md"], { cwd: repository, encoding: "utf8" })
  .split("\0")
  .filter((path) => path !== "");

/** Prose without code blocks and code spans, which quote commands and messages. */
function proseOf(path: string): string {
  return readFileSync(join(repository, path), "utf8")
    .replaceAll(/^ *```.*?^ *```/gms, "")
    .replaceAll(/`[^`]*`/g, "");
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
