import { isUtf8 } from "node:buffer";
import { isDataKey } from "../../api/data-key.ts";
import { UsageError } from "../../runtime/config-values.ts";

/** Where the value of a data key comes from. */
export type DataAssignment =
  | { readonly key: string; readonly from: "prompt" | "input" }
  | { readonly key: string; readonly from: "file"; readonly path: string }
  | { readonly key: string; readonly from: "literal"; readonly text: string };

/**
 * Parses `KEY`, `KEY=-` or `KEY=@FILE`, and `KEY=VALUE` if literal values are allowed; throws a
 * UsageError, which does not quote the value.
 */
export function parseAssignment(
  word: string,
  { literal }: { readonly literal: boolean },
): DataAssignment {
  const at = word.indexOf("=");
  const key = checkedKey(at === -1 ? word : word.slice(0, at), "KEY");
  if (at === -1) return { key, from: "prompt" };
  const text = word.slice(at + 1);
  if (literal) return { key, from: "literal", text };
  if (text === "-") return { key, from: "input" };
  if (text.startsWith("@") && text.length > 1) return { key, from: "file", path: text.slice(1) };
  throw new UsageError(
    `${key}: other users of the machine can read a value in the arguments; ` +
      `write ${key} to be asked, ${key}=- for the standard input, ${key}=@FILE for a file, ` +
      "or set --literal",
  );
}

/** Parses `PATH` or `KEY=PATH`; the name of the file is the key if there is none. */
export function parseFileAssignment(
  text: string,
  nameOf: (path: string) => string,
): DataAssignment {
  const at = text.indexOf("=");
  const path = text.slice(at + 1);
  const key = checkedKey(at === -1 ? nameOf(path) : text.slice(0, at), "--from-file");
  return { key, from: "file", path };
}

/** A data key; throws a UsageError that names the option or argument. */
export function checkedKey(key: string, option: string): string {
  const problem = dataKeyProblem(key);
  if (problem !== undefined) throw new UsageError(`${option}: ${problem}`);
  return key;
}

const mostShown = 60;

/** Why a text is no data key; undefined if it is one. */
export function dataKeyProblem(key: string): string | undefined {
  if (isDataKey(key)) return undefined;
  const shown = key.length > mostShown ? `${key.slice(0, mostShown)}...` : key;
  return (
    `data key ${JSON.stringify(shown)} must have letters, digits, -, _ and . ` +
    "only, and at most 253 of them"
  );
}

/** Bytes without their final newline, `\n` or `\r\n`, if they are text: programs print one. */
export function withoutFinalNewline(bytes: Buffer): Buffer {
  if (bytes.at(-1) !== 0x0a || !isUtf8(bytes)) return bytes;
  return bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1);
}
