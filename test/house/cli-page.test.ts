import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commands } from "../../src/client/commands.ts";
import { exitCodes } from "../../src/client/failure.ts";
import { commandHelp, connectionHelp } from "../../src/cli/help.ts";
import { helpForm } from "../../src/client/help.ts";

const path = join(import.meta.dirname, "..", "..", "docs", "cli.md");
const begin = "## Commands\n";

/** The part of the page that follows from the table: the help of each command. */
function reference(): string {
  const block = (text: string): string => `\`\`\`text\n${text.trim()}\n\`\`\`\n`;
  const sections = Object.values(commands).map(
    (command) =>
      `### ${command.name}\n\n${block(commandHelp(command, { ...helpForm, connection: {} }))}`,
  );
  const connection = `### Connection options\n\nEvery command that sends requests has these options.\n\n${block(connectionHelp(helpForm).join("\n"))}`;
  return [begin, ...sections, connection].join("\n");
}

// `npm run --silent test -- test/house/cli-page.test.ts --update` writes it.
test("docs/cli.md describes the commands as their help does", async () => {
  const [head = ""] = readFileSync(path, "utf8").split(begin);
  await expect(`${head}${reference()}`).toMatchFileSnapshot(path);
});

test("docs/cli.md has a heading for each command, in the order of the help", () => {
  const headings = [...readFileSync(path, "utf8").matchAll(/^### (.+)$/gm)].map(([, text]) => text);
  expect(headings).toEqual([
    ...Object.values(commands).map(({ name }) => name),
    "Connection options",
  ]);
});

test("docs/cli.md has one row for each exit code, as the help says it", () => {
  const rows = [...readFileSync(path, "utf8").matchAll(/^\| (\d) +\| (.+?) +\|$/gm)];
  expect(rows.map(([, code, meaning]) => [code, meaning])).toEqual(
    Object.values(exitCodes).map(({ code, meaning }) => [String(code), meaning]),
  );
});
