import { isUtf8 } from "node:buffer";
import { dotenvValue } from "../../domain/sync/sync-format.ts";
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
