import type { ParseValue } from "../../runtime/config-values.ts";
import type { Completable, FlagTable } from "./flag.ts";

/** A positional argument. */
interface Argument {
  readonly name: string;
  readonly help: string;
  readonly optional?: boolean;
  /** Whether it may be repeated; only the last argument. */
  readonly many?: boolean;
  readonly choices?: readonly string[];
  readonly completes?: Completable;
  /** Returns the word, or throws a UsageError: before the command sends a request. */
  readonly read: ParseValue<string>;
}

/** A command as its help, its completion and docs/cli.md describe it. */
export interface Command {
  /** One or two words, such as `keys create`. */
  readonly name: string;
  /** What the command does, in the imperative and without a full stop. */
  readonly brief: string;
  /** More sentences, for the help and the documentation. */
  readonly details?: readonly string[];
  readonly arguments: readonly Argument[];
  /** Its own flags. */
  readonly flags: FlagTable;
  /** Whether it has the connection flags. */
  readonly connects: boolean;
  /** Whether a program and its arguments follow after `--`. */
  readonly runsProgram?: boolean;
  readonly examples: readonly string[];
}

/** The arguments of a command as in its usage line, such as `NAME [KEY...]`. */
export function argumentsUsage({ arguments: list, runsProgram }: Command): string {
  const words = list.map(({ name, optional, many }) => {
    const word = many === true ? `${name}...` : name;
    return optional === true ? `[${word}]` : word;
  });
  return [...words, ...(runsProgram === true ? ["--", "PROGRAM", "[ARGUMENT...]"] : [])].join(" ");
}

/** Reads each word as the argument at its place; throws a UsageError that names the argument. */
export function readArguments(
  { arguments: list }: Pick<Command, "arguments">,
  words: readonly string[],
): readonly string[] {
  return words.map((word, at) => {
    const argument = list[at] ?? list.at(-1);
    if (argument === undefined) throw new TypeError(`there is no argument for word ${at + 1}`);
    return argument.read(word, argument.name);
  });
}
