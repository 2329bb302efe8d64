import type { Command } from "../cli/command.ts";
import { type HelpForm, section, wrapped } from "../cli/help.ts";
import { connectionOptions } from "./connection/connection-options.ts";
import { exitCodes, runExitCodes } from "./failure.ts";

/** The name with which users call the program. */
export const programName = "kubectl latchkey";

/** The form of `kubectl latchkey <command> --help`. */
export const helpForm: HelpForm = {
  program: programName,
  width: { line: 96, left: 34 },
  hasVariables: false,
  connection: connectionOptions,
  notes: [],
};

/** The output of `kubectl latchkey --help`, or of a group such as `keys`. */
export function overviewHelp(commands: readonly Command[], group: string): string {
  const listed = commands.filter(({ name }) => group === "" || name.startsWith(`${group} `));
  const codes = Object.values(exitCodes).map(
    ({ code, meaning }) => [String(code), meaning] as const,
  );
  const { failed, notExecutable, notFound } = runExitCodes;
  return [
    `Usage: ${programName} ${group === "" ? "" : `${group} `}<command> [options]`,
    ...section(
      "Commands:",
      listed.map(({ name, brief }) => [name, brief] as const),
      helpForm,
    ),
    ...section("Exit codes:", codes, helpForm),
    ...wrapped(
      `\`run\` has the exit code of its program, ${notFound} if the program does not exist, ` +
        `${notExecutable} if it cannot be started, and ${failed} if it was not started.`,
      "  ",
      helpForm,
    ),
    "",
    `${programName} <command> --help prints the options of a command.`,
    "",
  ].join("\n");
}
