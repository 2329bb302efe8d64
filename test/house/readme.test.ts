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

/** The words of a page, without what the commands of the client print about themselves. */
function wordsOf(path: string): number {
  const [byHand = ""] = readFileSync(join(repository, path), "utf8").split("\n## Commands\n");
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
