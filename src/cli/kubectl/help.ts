import { flagOf } from "../../runtime/options.ts";
import { argumentsUsage, type Command } from "./command.ts";
import { connectionFlags } from "./connection/connection-flags.ts";
import { exitCodes, runExitCodes } from "./failure.ts";
import type { FlagTable, FlagText } from "./flag.ts";

/** The name with which users call the program. */
export const programName = "kubectl latchkey";

/**
 * The output of `kubectl latchkey <command> --help`; docs/cli.md has the connection flags of all
 * commands once.
 */
export function commandHelp(command: Command, { withConnection = true } = {}): string {
  const { name, brief, details = [], arguments: list, flags, examples } = command;
  const words = [programName, name, argumentsUsage(command)].filter((word) => word !== "");
  const own = [...flagRows(flags), ["-h, --help", "print this help"] as const];
  return [
    `Usage: ${words.join(" ")} [options]`,
    "",
    ...wrapped(`${brief}.`, ""),
    ...details.flatMap((sentence) => wrapped(sentence, "")),
    ...section(
      "Arguments:",
      list.map(({ name: word, help }) => [word, help] as const),
    ),
    ...section("Options:", own),
    ...(command.connects && withConnection ? connectionHelp() : []),
    ...(examples.length === 0 ? [] : ["", "Examples:", ...examples.map((line) => `  ${line}`)]),
    "",
  ].join("\n");
}

/** The connection flags, as in the help of a command. */
export function connectionHelp(): readonly string[] {
  return section("Connection:", flagRows(connectionFlags));
}

/** The output of `kubectl latchkey --help`, or of a group such as `keys`. */
export function overviewHelp(commands: readonly Command[], group = ""): string {
  const listed = commands.filter(({ name }) => group === "" || name.startsWith(`${group} `));
  const codes = Object.values(exitCodes).map(
    ({ code, meaning }) => [String(code), meaning] as const,
  );
  return [
    `Usage: ${programName} ${group === "" ? "" : `${group} `}<command> [options]`,
    ...section(
      "Commands:",
      listed.map(({ name, brief }) => [name, brief] as const),
    ),
    ...section("Exit codes:", codes),
    ...wrapped(
      `\`run\` has the exit code of its program, ${runExitCodes.notFound} if the program does not exist, ${runExitCodes.notExecutable} if it cannot be started, and ${runExitCodes.failed} if it was not started.`,
      "  ",
    ),
    "",
    `${programName} <command> --help prints the options of a command.`,
    "",
  ].join("\n");
}

type Row = readonly [left: string, right: string];

function flagRows(flags: FlagTable): readonly Row[] {
  return Object.entries(flags).map(([name, flag]) => [flagUsage(name, flag), flag.help] as const);
}

/** A flag as in the help: `-n, --namespace <name>`. */
export function flagUsage(name: string, { alias, value }: Omit<FlagText, "help">): string {
  const letter = alias === undefined ? "" : `-${alias}, `;
  return `${letter}--${flagOf(name)} ${value}`.trim();
}

const lineWidth = 96;

function section(title: string, rows: readonly Row[]): readonly string[] {
  if (rows.length === 0) return [];
  const left = Math.min(34, Math.max(...rows.map(([usage]) => usage.length)));
  const lines = rows.flatMap(([usage, help]) => {
    const [first = "", ...others] = wrapped(help, " ".repeat(left + 4));
    return usage.length > left
      ? [`  ${usage}`, first, ...others]
      : [`  ${usage.padEnd(left)}  ${first.trimStart()}`, ...others];
  });
  return ["", title, ...lines];
}

/** Breaks a sentence into lines with an indentation. */
function wrapped(sentence: string, indentation: string): readonly string[] {
  const lines: string[] = [];
  let line = indentation;
  for (const word of sentence.split(" ")) {
    const isFull = line.trim() !== "" && line.length + 1 + word.length > lineWidth;
    if (isFull) lines.push(line);
    line = isFull || line.trim() === "" ? `${indentation}${word}` : `${line} ${word}`;
  }
  return [...lines, line];
}
