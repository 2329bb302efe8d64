import { flagOf } from "../runtime/options.ts";
import type { Command, CommandOptions } from "./command.ts";

/** The commands and options that decide what the words of a command line are. */
interface Vocabulary {
  readonly commands: readonly Command[];
  /** Options that may also stand before the command. */
  readonly connection: CommandOptions;
}

/** A command line, and what follows its first `--`. */
interface SplitWords {
  readonly own: readonly string[];
  readonly program: readonly string[];
}

/** Splits a command line at its first `--`, if a command runs a program. */
export function splitAtProgram(
  argv: readonly string[],
  { commands }: Pick<Vocabulary, "commands">,
): SplitWords {
  const at = commands.some(({ runsProgram }) => runsProgram === true) ? argv.indexOf("--") : -1;
  return at === -1
    ? { own: argv, program: [] }
    : { own: argv.slice(0, at), program: argv.slice(at + 1) };
}

/**
 * Separates letters as kubectl does: `-nweb` is `-n=web`, and `-Aojson` is `-A -o=json`. A word
 * with a letter that no command has stays as it is.
 */
export function separated(
  argv: readonly string[],
  { commands, connection }: Vocabulary,
): readonly string[] {
  const tables = [connection, ...commands.map(({ options }) => options)];
  const takesValue = new Map(
    tables.flatMap((table) =>
      Object.values(table).map(({ alias, value }) => [alias, value !== ""] as const),
    ),
  );
  return argv.flatMap((word) => (/^-[a-z][^=]/i.test(word) ? lettersOf(word, takesValue) : [word]));
}

function lettersOf(
  word: string,
  takesValue: ReadonlyMap<string | undefined, boolean>,
): readonly string[] {
  const switches: string[] = [];
  for (const [at, letter] of word.slice(1).split("").entries()) {
    const rest = word.slice(at + 2).replace(/^=/, "");
    const takes = takesValue.get(letter);
    if (takes === undefined) return [word];
    if (takes && rest !== "") return [...switches, `-${letter}=${rest}`];
    switches.push(`-${letter}`);
  }
  return switches;
}

/**
 * Moves options of the connection before the command behind it, as in `kubectl latchkey -n web get
 * db`: the library looks for the command in the first word.
 */
export function hoisted(
  argv: readonly string[],
  { commands, connection }: Vocabulary,
): readonly string[] {
  const at = leadingOptions(argv, connection);
  if (at === 0 || at >= argv.length) return argv;
  const rest = argv.slice(at);
  const depth = commands.some(({ name }) => name === `${rest[0]} ${rest[1]}`) ? 2 : 1;
  return [...rest.slice(0, depth), ...argv.slice(0, at), ...rest.slice(depth)];
}

/** The number of words before a command that are these options and their values. */
export function leadingOptions(argv: readonly string[], options: CommandOptions): number {
  const takesValue = new Map(
    Object.entries(options).flatMap(([name, { alias, value }]) =>
      [`--${flagOf(name)}`, ...(alias === undefined ? [] : [`-${alias}`])].map(
        (word) => [word, value !== ""] as const,
      ),
    ),
  );
  let at = 0;
  while (at < argv.length) {
    const word = argv[at] ?? "";
    const takes = takesValue.get(word.split("=")[0] ?? "");
    if (takes === undefined) break;
    at += takes && !word.includes("=") ? 2 : 1;
  }
  return at;
}
