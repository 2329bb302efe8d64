import { flagOf } from "../../runtime/options.ts";
import type { Command } from "./command.ts";
import { connectionFlags } from "./connection/connection-flags.ts";
import type { FlagTable } from "./flag.ts";

/** A command line, and what follows its first `--`. */
interface SplitWords {
  readonly own: readonly string[];
  readonly program: readonly string[];
}

/** Splits a command line at its first `--`. */
export function splitAtProgram(argv: readonly string[]): SplitWords {
  const at = argv.indexOf("--");
  return at === -1
    ? { own: argv, program: [] }
    : { own: argv.slice(0, at), program: argv.slice(at + 1) };
}

const connectionWords: ReadonlyMap<string, boolean> = new Map(
  Object.entries(connectionFlags).flatMap(([name, flag]) => {
    const takesValue = flag.value !== "";
    const long: [string, boolean] = [`--${flagOf(name)}`, takesValue];
    const short: [string, boolean][] = "alias" in flag ? [[`-${flag.alias}`, takesValue]] : [];
    return [long, ...short];
  }),
);

/**
 * Separates letters as kubectl does: `-nweb` is `-n=web`, and `-Aojson` is `-A -o=json`. A word with
 * a letter that no command has stays as it is.
 */
export function separated(
  argv: readonly string[],
  commands: readonly Pick<Command, "flags">[],
): readonly string[] {
  const flags = [connectionFlags, ...commands.map((command) => command.flags)].flatMap(
    (table: FlagTable) => Object.values(table),
  );
  const takesValue = new Map(flags.map(({ alias, value }) => [alias, value !== ""]));
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
 * Moves connection flags before the command behind it, as in `kubectl latchkey -n web get db`: the
 * library looks for the command in the first word.
 */
export function hoisted(
  argv: readonly string[],
  commands: readonly Pick<Command, "name">[],
): readonly string[] {
  const at = leadingFlags(argv);
  if (at === 0 || at >= argv.length) return argv;
  const rest = argv.slice(at);
  const depth = commands.some(({ name }) => name === `${rest[0]} ${rest[1]}`) ? 2 : 1;
  return [...rest.slice(0, depth), ...argv.slice(0, at), ...rest.slice(depth)];
}

/** The number of words before a command that are connection flags and their values. */
export function leadingFlags(argv: readonly string[]): number {
  let at = 0;
  while (at < argv.length) {
    const word = argv[at] ?? "";
    const takesValue = connectionWords.get(word.split("=")[0] ?? "");
    if (takesValue === undefined) break;
    at += takesValue && !word.includes("=") ? 2 : 1;
  }
  return at;
}
