import { ConfigError, type ParseValue, UsageError } from "../../runtime/config-values.ts";
import { flagOf } from "../../runtime/options.ts";

/** What completion proposes for a flag or an argument. */
export type Completable =
  | "sharedsecrets"
  | "datakeys"
  | "keys"
  | "objects"
  | "clusters"
  | "namespaces"
  | "contexts"
  | "files";

/** A flag of a command; its name follows from its key in the table: `asGroup` is `--as-group`. */
export interface Flag<T> {
  /** Placeholder of the value in the help; empty for a switch, which takes no value. */
  readonly value: string;
  /** A letter. */
  readonly alias?: string;
  readonly help: string;
  /** All valid values, if they are few. */
  readonly choices?: readonly string[];
  readonly completes?: Completable;
  /** Parses the values in the order of the command line; throws a UsageError. */
  readonly read: (texts: readonly string[], option: string) => T;
}

/** The flags of a command by the names of their fields. */
export type FlagTable = Readonly<Record<string, Flag<unknown>>>;

/** The values of a table of flags. */
export type FlagsOf<Table extends FlagTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Flag<infer T> ? T : never;
};

/** The description of a flag without its parser. */
export type FlagText = Omit<Flag<unknown>, "read">;

/** A flag without a value: true if it is there. */
export function switchFlag(text: Omit<FlagText, "value">): Flag<boolean> {
  return { ...text, value: "", read: (texts) => texts.length > 0 };
}

/** A flag whose last value counts; undefined if it is not there. */
export function optionalFlag<T>(text: FlagText, parse: ParseValue<T>): Flag<T | undefined> {
  return {
    ...text,
    read: (texts, option) => {
      const last = texts.at(-1);
      return last === undefined ? undefined : parse(last, option);
    },
  };
}

/** A flag whose last value counts, with a default in the form of the command line. */
export function flagWithDefault<T>(
  { initial, ...text }: FlagText & { readonly initial: string },
  parse: ParseValue<T>,
): Flag<T> {
  return {
    ...text,
    help: `${text.help} (default ${initial})`,
    read: (texts, option) => parse(texts.at(-1) ?? initial, option),
  };
}

/** A flag that may be repeated. */
export function listFlag<T>(text: FlagText, parse: ParseValue<T>): Flag<readonly T[]> {
  return { ...text, read: (texts, option) => texts.map((value) => parse(value, option)) };
}

/** A flag with a few valid values. */
export function choiceFlag<const Choice extends string>(
  choices: readonly Choice[],
  text: Omit<FlagText, "choices" | "value"> & { readonly value?: string },
): Flag<Choice | undefined> {
  const value = text.value ?? `<${choices.join("|")}>`;
  return optionalFlag({ ...text, value, choices }, oneOf(choices));
}

/** One of a few words. */
export function oneOf<const Choice extends string>(choices: readonly Choice[]): ParseValue<Choice> {
  return (value, option) => {
    const found = choices.find((choice) => choice === value);
    if (found === undefined)
      throw new ConfigError(option, value, `must be one of ${choices.join(", ")}`);
    return found;
  };
}

/** Text that is not empty. */
export const someText: ParseValue<string> = (value, option) => {
  if (value === "") throw new UsageError(`${option} must not be empty`);
  return value;
};

/** Text that a header can hold (RFC 9110, field-value); errors do not quote it. */
export const headerText: ParseValue<string> = (value, option) => {
  if (/^[\t\x20-\x7e\x80-\xff]+$/.test(value)) return value;
  throw new UsageError(`${option} must be text that a header can hold, without newlines`);
};

/** The URL of a server; returned as written. */
export const serverUrl: ParseValue<string> = (value, option) => {
  if (/^https?:$/.test(URL.parse(value)?.protocol ?? "")) return value;
  throw new ConfigError(option, value, "must be a URL, such as https://latchkey.example.com");
};

/** Parses the values of the flags of a table; throws a UsageError that names the flag. */
export function readFlags<Table extends FlagTable>(
  table: Table,
  given: ReadonlyMap<string, readonly string[]>,
): FlagsOf<Table>;
/** The same for a table whose fields are unknown to the compiler. */
export function readFlags(table: FlagTable, given: ReadonlyMap<string, readonly string[]>): object {
  return Object.fromEntries(
    Object.entries(table).map(([name, flag]) => {
      const written = flagOf(name);
      return [name, flag.read(given.get(written) ?? [], `--${written}`)] as const;
    }),
  );
}
