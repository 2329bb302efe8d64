import { flagOf, variableOf } from "../runtime/options.ts";
import {
  argumentsUsage,
  type Command,
  type CommandOption,
  type CommandOptions,
} from "./command.ts";

/** What differs between the help of two programs. */
export interface HelpForm {
  readonly program: string;
  /** The width of a line, and of its left column; `Infinity` breaks no line. */
  readonly width: { readonly line: number; readonly left: number };
  /** Whether an option shows its environment variable. */
  readonly hasVariables: boolean;
  /** The options of commands that connect. */
  readonly connection: CommandOptions;
  /** Lines at the end. */
  readonly notes: readonly string[];
}

type Row = readonly [left: string, right: string];

/** The output of a command with `--help`. */
export function commandHelp(command: Command, form: HelpForm): string {
  const { name, brief, details = [], arguments: list = [], options, examples = [] } = command;
  const words = [form.program, name, argumentsUsage(command)].filter((word) => word !== "");
  const own = [...optionRows(options, form), ["-h, --help", "print this help"] as const];
  return [
    `Usage: ${words.join(" ")} [options]`,
    "",
    ...[`${brief}.`, ...details].flatMap((sentence) => wrapped(sentence, "", form)),
    ...section(
      "Arguments:",
      list.map(({ name: word, help }) => [word, help] as const),
      form,
    ),
    ...section("Options:", own, form),
    ...(command.connects === true ? connectionHelp(form) : []),
    ...(examples.length === 0 ? [] : ["", "Examples:", ...examples.map((line) => `  ${line}`)]),
    ...form.notes,
    "",
  ].join("\n");
}

/** The options of the connection, as in the help of a command. */
export function connectionHelp(form: HelpForm): readonly string[] {
  return section("Connection:", optionRows(form.connection, form), form);
}

function optionRows(options: CommandOptions, { hasVariables }: HelpForm): readonly Row[] {
  return Object.entries(options).map(([name, option]) => {
    const variable = hasVariables ? ` [${variableOf(name, option)}]` : "";
    return [optionUsage(name, option), `${optionHelp(option)}${variable}`] as const;
  });
}

/** What an option does, with its default. */
export function optionHelp({ help, value, initial = "" }: CommandOption): string {
  return value === "" || initial === "" ? help : `${help} (default ${initial})`;
}

/** An option as in the help: `-n, --namespace <name>`. */
export function optionUsage(
  name: string,
  { alias, value }: Pick<CommandOption, "alias" | "value">,
): string {
  const letter = alias === undefined ? "" : `-${alias}, `;
  return `${letter}--${flagOf(name)} ${value}`.trim();
}

/** A title and rows of two columns; nothing without rows. */
export function section(
  title: string,
  rows: readonly Row[],
  form: Pick<HelpForm, "width">,
): readonly string[] {
  if (rows.length === 0) return [];
  const left = Math.min(form.width.left, Math.max(...rows.map(([usage]) => usage.length)));
  const lines = rows.flatMap(([usage, help]) => {
    const [first = "", ...others] = wrapped(help, " ".repeat(left + 4), form);
    return usage.length > left
      ? [`  ${usage}`, first, ...others]
      : [`  ${usage.padEnd(left)}  ${first.trimStart()}`, ...others];
  });
  return ["", title, ...lines];
}

/** Breaks a sentence into lines with an indentation. */
export function wrapped(
  sentence: string,
  indentation: string,
  { width }: Pick<HelpForm, "width">,
): readonly string[] {
  const lines: string[] = [];
  let line = indentation;
  for (const word of sentence.split(" ")) {
    const isFull = line.trim() !== "" && line.length + 1 + word.length > width.line;
    if (isFull) lines.push(line);
    line = isFull || line.trim() === "" ? `${indentation}${word}` : `${line} ${word}`;
  }
  return [...lines, line];
}
