import type { ConfigOf, Option, OptionTable } from "../../runtime/options.ts";
import type { Flag } from "./flag.ts";

/** The flags with the meaning of a table of options; their environment variables are not read. */
type OptionFlags<Table extends OptionTable> = {
  readonly [Name in keyof Table]: Flag<ConfigOf<Table>[Name]>;
};

/** Converts the options of a command of the program `latchkey` to flags. */
export function flagsOfOptions<Table extends OptionTable>(table: Table): OptionFlags<Table>;
/** The same for a table whose fields are unknown to the compiler. */
export function flagsOfOptions(table: OptionTable): object {
  return Object.fromEntries(
    Object.entries(table).map(([name, option]) => [name, flagOfOption(option)] as const),
  );
}

function flagOfOption({ value, initial, help, parse }: Option<unknown>): Flag<unknown> {
  const shown = value === "" || initial === "" ? "" : ` (default ${initial})`;
  return {
    value,
    help: `${help}${shown}`,
    read: (texts, option) => parse(texts.at(-1) ?? initial, option),
  };
}
