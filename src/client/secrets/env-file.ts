import { isUtf8 } from "node:buffer";
import { withoutEnd } from "../../api/text-end.ts";
import { UsageError } from "../../runtime/config-values.ts";

/**
 * Reads lines of `NAME=value` (docs/cli.md, "Keys and values"): `#` begins a comment at the start
 * of a line and after a blank; text in single quotes is verbatim; in double quotes, `\n` and `\r`
 * are line breaks, and a backslash is dropped before `\`, `"`, `$` and a backtick. Throws a
 * UsageError that names the line and quotes no value; `say` gets one sentence, without a value, if
 * dotenv reads values differently.
 */
export function parseEnvFile(
  bytes: Buffer,
  file: string,
  say: (sentence: string) => void = () => {},
): ReadonlyMap<string, string> {
  if (!isUtf8(bytes)) throw new UsageError(`${file} is not UTF-8; use KEY=@FILE`);
  const text = bytes
    .toString("utf8")
    .replace(/^\u{feff}/u, "")
    .replaceAll("\r\n", "\n");
  const values = new Map<string, string>();
  const ways = new Map<string, OtherWay | undefined>();
  for (let at = 0; at < text.length;) {
    const entry = entryAt(text, at);
    if (entry === undefined)
      throw new UsageError(
        `${file}: line ${text.slice(0, at).split("\n").length} must be NAME=value; ` +
          "put a value that begins with a quote or a backtick in quotes, and nothing but a " +
          "comment behind them",
      );
    if (entry.name !== undefined) {
      values.set(entry.name, entry.value);
      ways.set(entry.name, entry.otherWay);
    }
    at = entry.end;
  }
  if (values.size === 0) throw new UsageError(`${file} has no line NAME=value`);
  const differences = differencesIn(ways);
  if (differences !== "")
    say(`${file}: other programs read some values differently: ${differences}`);
  return values;
}

/** What other programs do with a value that is not in single quotes. */
const otherWays = {
  expands: "programs that know ${NAME} and $NAME replace it, and here it is stored as it stands",
  ends: "dotenv ends a value at #, and here a blank stands before a comment",
  escapes: 'dotenv keeps the backslash before \\, ", $ and a backtick, and here it is dropped',
} as const;
type OtherWay = keyof typeof otherWays;

function differencesIn(ways: ReadonlyMap<string, OtherWay | undefined>): string {
  const parts = (["expands", "ends", "escapes"] as const).flatMap((way) => {
    const names = [...ways.keys()].filter((name) => ways.get(name) === way);
    return names.length === 0 ? [] : `${names.join(", ")}: ${otherWays[way]}`;
  });
  return parts.join("; ");
}

function otherWayOf(text: string, quote: string | undefined): OtherWay | undefined {
  if (quote === "'") return undefined;
  if (/\$[{A-Za-z_]/.test(text)) return "expands";
  if (quote === undefined) return text.includes("#") ? "ends" : undefined;
  return /\\[\\"$`]/.test(text) ? "escapes" : undefined;
}

const emptyLine = /[ \t]*(?:#[^\n]*)?(?:\n|$)/y;
const begin =
  /[ \t]*(?:export[ \t]+)?(?<name>[-._a-zA-Z0-9]{1,253})[ \t]*=(?:[ \t]*(?<quote>['"`]))?/y;
const restOfLine = /(?:[ \t]+#[^\n]*|[ \t]*)(?:\n|$)/y;

/** A line, with the lines that its quotes hold together; without a name if it has no variable. */
interface Entry {
  readonly name?: string | undefined;
  readonly value: string;
  readonly otherWay?: OtherWay | undefined;
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
    const value = withoutComment(plain);
    const otherWay = otherWayOf(value, quote);
    return { name, value, otherWay, end: start + plain.length + 1 };
  }
  const close = quote === "'" ? text.indexOf("'", start) : endOfEscaped(text, start);
  const isClosed = quote !== "`" && close !== -1;
  if (!isClosed || matchAt(restOfLine, text, close + 1) === undefined) return undefined;
  const quoted = text.slice(start, close);
  const value = quote === "'" ? quoted : unescaped(quoted);
  return { name, value, otherWay: otherWayOf(quoted, quote), end: restOfLine.lastIndex };
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
