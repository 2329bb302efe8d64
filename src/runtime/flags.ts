import { parseArgs } from "node:util";
import { ConfigError } from "./config-values.ts";

/** Whether help is asked for. */
export function wantsHelp(argv: readonly string[]): boolean {
  return argv.includes("--help") || argv.includes("-h");
}

/**
 * The values of `--name value` and `--name=value` by name, the last one of each; throws a
 * ConfigError for anything else.
 */
export function parseFlags(
  argv: readonly string[],
  names: readonly string[],
): ReadonlyMap<string, string> {
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(names.map((name) => [name, { type: "string" as const }])),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const values = new Map<string, string>();
  for (const token of tokens) {
    if (token.kind !== "option")
      throw new ConfigError(
        "argument",
        argv[token.index] ?? "",
        "is not understood; options are written --name value",
      );
    if (!names.includes(token.name))
      throw new ConfigError("option", token.rawName, "does not exist; --help lists the options");
    const isMissing =
      token.value === undefined || (!token.inlineValue && token.value.startsWith("--"));
    if (isMissing)
      throw new ConfigError(
        "option",
        token.rawName,
        `needs a value, such as ${token.rawName}=value`,
      );
    values.set(token.name, token.value ?? "");
  }
  return values;
}
