import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commands } from "../../src/client/commands.ts";
import { exitCodes } from "../../src/client/failure.ts";
import { reportReasons, reportStates, reportStatesOf } from "../../src/api/report.ts";
import type { Command } from "../../src/cli/command.ts";
import { commandHelp, connectionHelp } from "../../src/cli/help.ts";
import { systemNamespace } from "../../src/client/connection/connection-options.ts";
import { helpForm } from "../../src/client/help.ts";
import { markdownTable } from "./markdown-table.ts";

const path = join(import.meta.dirname, "..", "..", "docs", "cli.md");
const begin = "## Commands\n";

/** The part of the page that follows from tables: the help of each command, states and reasons. */
function reference(): string {
  const block = (text: string): string => `\`\`\`text\n${text.trim()}\n\`\`\`\n`;
  const sections = Object.values(commands).map(
    (command) => `### ${command.name}\n\n${block(ownHelp(command))}`,
  );
  const connection = `### Connection options\n\nEvery command that sends requests has these options.\n\n${block(connectionHelp(helpForm).join("\n"))}`;
  const common =
    `Every command has \`-h\` and \`--help\`, and those that send requests have\n` +
    `[connection options](#connection-options). Commands about objects of the installation have\n` +
    `\`--latchkey-namespace\` (default \`${systemNamespace.latchkeyNamespace.initial}\`).\n`;
  const states = Object.entries(reportStates).map(([state, meaning]) => {
    const commandsOf = Object.entries(reportStatesOf).filter(([, list]) =>
      list.some((listed) => listed === state),
    );
    return [`\`${state}\``, commandsOf.map(([name]) => `\`${name}\``).join(", "), meaning];
  });
  const reasons = Object.entries(reportReasons).map(([reason, meaning]) => [
    `\`${reason}\``,
    meaning,
  ]);
  return [
    begin,
    common,
    ...sections,
    connection,
    `## States\n\n${markdownTable([["state", "commands", "meaning"], ...states])}`,
    `## Reasons\n\n${markdownTable([["reason", "meaning"], ...reasons])}`,
  ].join("\n");
}

/** The help of a command without the options that the page explains once. */
function ownHelp(command: Command): string {
  const { latchkeyNamespace: _, ...options } = command.options;
  return commandHelp({ ...command, options }, { ...helpForm, connection: {} })
    .replace(/^ +-h, --help +print this help\n/m, "")
    .replace(/\nOptions:\n(?=\n|$)/, "");
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
