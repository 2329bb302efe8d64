import { isUtf8 } from "node:buffer";
import { withoutEnd } from "../../api/text-end.ts";
import { UsageError } from "../../runtime/config-values.ts";

/**
 * Reads lines of `NAME=value` (docs/cli.md, "Keys and values"): `#` begins a comment at the start
 * of a line and after a blank; text in single quotes is verbatim; in double quotes, `\n` and `\r`
 * are line breaks, and a backslash is dropped before `\`, `"`, `$` and a backtick. Throws a
 * UsageError that names the line and quotes no value.
 */
export function parseEnvFile(bytes: Buffer, file: string): ReadonlyMap<string, string> {
  if (!isUtf8(bytes)) throw new UsageError(`${file} is not UTF-8; use KEY=@FILE`);
  const text = bytes
    .toString("utf8")
    .replace(/^\u{feff}/u, "")
    .replaceAll("\r\n", "\n");
  const values = new Map<string, string>();
  for (let at = 0; at < text.length;) {
    const entry = entryAt(text, at);
    if (entry === undefined)
      throw new UsageError(
        `${file}: line ${text.slice(0, at).split("\n").length} must be NAME=value; ` +
          "put a value that begins with a quote or a backtick in quotes, and nothing but a " +
          "comment behind them",
      );
    if (entry.name !== undefined) values.set(entry.name, entry.value);
    at = entry.end;
  }
  if (values.size === 0) throw new UsageError(`${file} has no line NAME=value`);
  return values;
}

const emptyLine = /[ \t]*(?:#[^\n]*)?(?:\n|$)/y;
const begin =
  /[ \t]*(?:export[ \t]+)?(?<name>[-._a-zA-Z0-9]{1,253})[ \t]*=(?:[ \t]*(?<quote>['"`]))?/y;
const restOfLine = /(?:[ \t]+#[^\n]*|[ \t]*)(?:\n|$)/y;

/** A line, with the lines that its quotes hold together; without a name if it has no variable. */
interface Entry {
  readonly name?: string | undefined;
  readonly value: string;
  /** Where the next line begins. */
  readonly end: number;
}

function entryAt(text: string, at: number): Entry | undefined {
  const empty = matchAt(emptyLine, text, at);
  if (empty !== undefined) return { value: "", end: emptyLine.lastIndex };
  const { name, quote } = matchAt(begin, text, at)?.groups ?? {};
  if (name === undefined) return undefined;
  const start = begin.lastIndex;
  if (quote === undefined) {
    const plain = matchAt(/[^\n]*/y, text, start)?.[0] ?? "";
    return { name, value: withoutComment(plain), end: start + plain.length + 1 };
  }
  const close = quote === "'" ? text.indexOf("'", start) : endOfEscaped(text, start);
  const isClosed = quote !== "`" && close !== -1;
  if (!isClosed || matchAt(restOfLine, text, close + 1) === undefined) return undefined;
  const quoted = text.slice(start, close);
  return { name, value: quote === "'" ? quoted : unescaped(quoted), end: restOfLine.lastIndex };
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

/** Where text in double quotes ends; -1 if it does not. */
function endOfEscaped(text: string, start: number): number {
  for (let at = start; at < text.length; at += text[at] === "\\" ? 2 : 1)
    if (text[at] === '"') return at;
  return -1;
}

const lineBreaks = new Map([
  ["n", "\n"],
  ["r", "\r"],
]);

function unescaped(text: string): string {
  return text.replaceAll(/\\([nr\\"$`])/g, (_, letter: string) => lineBreaks.get(letter) ?? letter);
}

function withoutComment(text: string): string {
  const at = text.search(/[ \t]#/);
  return withoutEnd(at === -1 ? text : text.slice(0, at), " \t").replace(/^[ \t]+/, "");
}
