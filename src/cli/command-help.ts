import { flagOf, type OptionTable, variableOf } from "../runtime/options.ts";

/** The name and the options of a command, for its help. */
export interface DocumentedCommand {
  readonly name: string;
  /** What the command does, in the imperative and without a full stop. */
  readonly brief: string;
  readonly options: OptionTable;
}

/** The output of `latchkey <command> --help`: each option with its value, default and variable. */
export function commandHelp({ name, brief, options }: DocumentedCommand): string {
  const rows = Object.entries(options).map(([field, option]) => {
    const initial =
      option.initial === "" || option.value === "" ? "" : ` (default ${option.initial})`;
    return {
      left: `--${flagOf(field)} ${option.value}`,
      right: `${option.help}${initial} [${variableOf(field, option)}]`,
    };
  });
  const width = Math.max(...rows.map(({ left }) => left.length));
  return [
    `Usage: latchkey ${name} [options]`,
    "",
    `${brief}.`,
    "",
    "Options:",
    ...rows.map(({ left, right }) => `  ${left.padEnd(width)}  ${right}`),
    `  ${"-h, --help".padEnd(width)}  print this help`,
    "",
    "Durations: 90, 30s, 15m, 1h, 7d; a number alone is seconds.",
    "Each option is also an environment variable, in brackets; the option takes precedence.",
    "",
  ].join("\n");
}

/** The output of `latchkey --help`. */
export function overviewHelp(commands: readonly DocumentedCommand[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    "Usage: latchkey <command> [options]",
    "",
    "Commands:",
    ...commands.map(({ name, brief }) => `  ${name.padEnd(width)}  ${brief}`),
    "",
    "Options:",
    `  ${"-h, --help".padEnd(width)}  print this help, or the help of a command after its name`,
    `  ${"--version".padEnd(width)}  print the version`,
    "",
  ].join("\n");
}
