import { isUtf8 } from "node:buffer";
import { dotenvValue } from "../../domain/sync/derived-text.ts";
import type { PlainValues } from "../../tokens/shared-values.ts";

/** Values as an object: text, or base64 under `<key>.base64` where it is not UTF-8. */
export function valuesObject(values: PlainValues): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...values].map(([key, bytes]) =>
      isUtf8(bytes) ? [key, bytes.toString("utf8")] : [`${key}.base64`, bytes.toString("base64")],
    ),
  );
}

/** Whether a data key can be the name of a variable (POSIX, Environment Variable Definition). */
export function isVariableName(key: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(key);
}

/** Whether a value can be in a variable: text without NUL. */
export function isVariableValue(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

/** A variable. */
export type Variable = readonly [name: string, value: string];

/** Values that can be variables, and the keys of those that cannot. */
export interface Variables {
  readonly variables: readonly Variable[];
  readonly omitted: readonly string[];
}

/** Converts values to variables with a prefix before each key. */
export function variablesOf(values: PlainValues, prefix = ""): Variables {
  const entries = [...values];
  const fits = ([key, bytes]: readonly [string, Buffer]): boolean =>
    isVariableName(prefix + key) && isVariableValue(bytes);
  return {
    variables: entries
      .filter(fits)
      .map(([key, bytes]) => [prefix + key, bytes.toString("utf8")] as const),
    omitted: entries.filter((entry) => !fits(entry)).map(([key]) => key),
  };
}

/** Lines of `export NAME='value'` for a POSIX shell. */
export function shellText(variables: readonly Variable[]): string {
  return variables
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", String.raw`'\''`)}'\n`)
    .join("");
}

/**
 * Lines of `NAME='value'` that `set --from-env-file` reads back, and in which a shell runs nothing;
 * parsers of dotenv files read those alike that are not {@link isReadInDifferentWays}.
 */
export function dotenvText(variables: readonly Variable[]): string {
  return variables
    .map(([name, value]) => `${name}=${dotenvValue(value) ?? escapedValue(value)}\n`)
    .join("");
}

/** Whether parsers of dotenv files differ about every way to write a value. */
export function isReadInDifferentWays(value: string): boolean {
  return dotenvValue(value) === undefined;
}

function escapedValue(value: string): string {
  const escaped = value.replaceAll(/[\\"$`]/g, String.raw`\$&`);
  return `"${escaped.replaceAll("\r", String.raw`\r`)}"`;
}

/**
 * Names that make a program run other code. Who may change a SharedSecret could use them against the
 * user who runs a program with it.
 */
const dangerous =
  /^(?:LD_|DYLD_|GIT_|BASH_|GLIBC_|GCONV_|NODE_|BUN_|DENO_|NPM_CONFIG_|PYTHON|PERL|RUBY|JAVA_TOOL_OPTIONS$|JDK_JAVA_OPTIONS$|_JAVA_OPTIONS$|PATH$|HOME$|ENV$|IFS$|SHELL$|EDITOR$|VISUAL$|PAGER$|KUBECONFIG$|PROMPT_COMMAND$|PS4$)/i;

/** Whether a variable can make a program run other code. */
export function isDangerousVariable(name: string): boolean {
  return dangerous.test(name);
}
