import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { blocksOf } from "../support/doc-blocks.ts";
import { repository } from "../support/install.ts";
import { recordingOf } from "./recording.ts";

// `npm run --silent test -- test/house/recording.test.ts --update` writes it.
test("the recording of the README shows its first console block", async () => {
  const readme = readFileSync(join(repository, "README.md"), "utf8");
  const [block] = blocksOf(readme).filter(({ language }) => language === "console");
  if (block === undefined) throw new Error("README.md has no console block");
  const svg = recordingOf(block, "A terminal: a SharedSecret is applied, and its copies appear");
  await expect(svg).toMatchFileSnapshot(join(repository, "docs/images/recording.svg"));
});
