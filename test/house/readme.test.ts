import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { blocksOf } from "../support/doc-blocks.ts";
import { repository } from "../support/install.ts";
import { recordingOf } from "./recording.ts";

const readme = readFileSync(join(repository, "README.md"), "utf8");

// `npm run --silent test -- test/house/readme.test.ts --update` writes it.
test("the recording of the README shows its first console block", async () => {
  const [block] = blocksOf(readme).filter(({ language }) => language === "console");
  if (block === undefined) throw new Error("README.md has no console block");
  const svg = recordingOf(
    block,
    "A terminal in which a SharedSecret is applied and its copies appear",
  );
  await expect(svg).toMatchFileSnapshot(join(repository, "docs/images/recording.svg"));
});

/** Pages that a program writes, and pages for contributors. */
const others = /^docs\/(?:contributing|decisions)\/|^docs\/(?:chart-values|metrics|kinds)\.md$/;

/** Where a program writes the rest of a page: docs/cli.md and docs/options.md. */
const written = /\n## (?:Commands\n|Options of )/;

/** The words of a page, its blocks and tables included, without what a program writes. */
function wordsOf(path: string): number {
  const [byHand = ""] = readFileSync(join(repository, path), "utf8").split(written);
  return byHand.split(/\s+/).filter((word) => /\w/.test(word)).length;
}

test("counts the words of the pages for users", () => {
  const pages = execFileSync("git", ["ls-files", "-z", "docs/*.md"], {
    cwd: repository,
    encoding: "utf8",
  })
    .split("\0")
    .filter((path) => path !== "" && !others.test(path));
  const words = pages.map((path) => ({ path, words: wordsOf(path) }));
  const sum = words.reduce((total, page) => total + page.words, 0);
  process.stdout.write(`docs: ${sum} words for users in ${words.length} pages\n`);
  expect(words.filter((page) => page.words === 0)).toEqual([]);
});
