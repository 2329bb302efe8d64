import { type ParseValue, UsageError } from "../runtime/config-values.ts";
import { type ConfigOf, flagOf, type Option, type OptionTable } from "../runtime/options.ts";

/** What completion proposes for an option or an argument. */
export type Completable =
  | "sharedsecrets"
  | "datakeys"
  | "keys"
  | "tokens"
  | "objects"
  | "clusters"
  | "namespaces"
  | "contexts"
  | "files";

/** An option, and what only a command line that people type has. */
export interface CommandOption extends Option<unknown> {
  /** A letter. */
  readonly alias?: string;
  /** All valid values, if they are few. */
  readonly choices?: readonly string[];
  readonly completes?: Completable;
}

/** The options of a command by the names of their fields. */
export type CommandOptions = Readonly<Record<string, CommandOption>>;

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

/** A command as its parser, its help, its completion and the documentation read it. */
export interface Command {
  /** One or two words, such as `keys create`. */
  readonly name: string;
  /** What the command does, in the imperative and without a full stop. */
  readonly brief: string;
  /** More sentences, for the help and the documentation. */
  readonly details?: readonly string[];
  /** Without them, a word that is not an option is a misspelt option. */
  readonly arguments?: readonly Argument[];
  /** Its own options. */
  readonly options: CommandOptions;
  /** Whether it has the options of the program's connection. */
  readonly connects?: boolean;
  /** Whether a program and its arguments follow after `--`. */
  readonly runsProgram?: boolean;
  readonly examples?: readonly string[];
}

/** The words of a command line by what they are, as texts. */
export interface GivenWords {
  /** The values of each option in their order; a switch has `true`. */
  readonly options: ReadonlyMap<string, readonly string[]>;
  readonly args: readonly string[];
  /** The words after `--`. */
  readonly program: readonly string[];
}

/** The arguments of a command as in its usage line, such as `NAME [KEY...]`. */
export function argumentsUsage({ arguments: list = [], runsProgram }: Command): string {
  const words = list.map(({ name, optional, many }) => {
    const word = many === true ? `${name}...` : name;
    return optional === true ? `[${word}]` : word;
  });
  return [...words, ...(runsProgram === true ? ["--", "PROGRAM", "[ARGUMENT...]"] : [])].join(" ");
}

/** Reads each word as the argument at its place; throws a UsageError that names the argument. */
export function readArguments(
  { arguments: list = [] }: Pick<Command, "arguments">,
  words: readonly string[],
): readonly string[] {
  return words.map((word, at) => {
    const argument = list[at] ?? list.at(-1);
    if (argument === undefined) throw new TypeError(`there is no argument for word ${at + 1}`);
    return argument.read(word, argument.name);
  });
}

/** Throws a UsageError if there are too few or too many arguments, or a program too few or many. */
export function checkArguments(
  command: Command,
  { args, program }: GivenWords,
  programName: string,
): void {
  const { arguments: list = [], runsProgram = false } = command;
  const usage = `${programName} ${command.name} ${argumentsUsage(command)}`.trimEnd();
  const missing = list.filter(({ optional }) => optional !== true)[args.length];
  if (missing !== undefined)
    throw new UsageError(`argument ${missing.name} is missing; the usage is ${usage}`);
  const isEndless = list.some(({ many }) => many === true);
  if (!isEndless && args.length > list.length)
    throw new UsageError(
      `there are ${args.length} arguments, and at most ${list.length} are possible; ` +
        `the usage is ${usage}`,
    );
  if (!runsProgram && program.length > 0)
    throw new UsageError(`nothing may follow after --; the usage is ${usage}`);
  if (runsProgram && program.length === 0)
    throw new UsageError(`a program is missing after --; the usage is ${usage}`);
}

/**
 * Parses the values of options on the command line alone; throws a UsageError that names the
 * option.
 */
export function readOptions<Table extends OptionTable>(
  table: Table,
  given: GivenWords["options"],
): ConfigOf<Table>;
/** The same for a table whose fields are unknown to the compiler. */
export function readOptions(table: OptionTable, given: GivenWords["options"]): object {
  return Object.fromEntries(
    Object.entries(table).map(([name, { initial, many, parse }]) => {
      const flag = flagOf(name);
      const texts = given.get(flag) ?? [];
      const read = (text: string): unknown => parse(text, `--${flag}`);
      if (many === true) return [name, texts.map(read)] as const;
      const last = texts.at(-1) ?? initial;
      return [name, last === undefined ? undefined : read(last)] as const;
    }),
  );
}
