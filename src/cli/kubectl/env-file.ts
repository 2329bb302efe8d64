import { isUtf8 } from "node:buffer";
import { UsageError } from "../../runtime/config-values.ts";

/** A line, with the lines that its quotes hold together. */
const entry =
  /[ \t]*(?:(?:export[ \t]+)?(?<name>[-._a-zA-Z0-9]{1,253})[ \t]*=(?:[ \t]*(?:'(?<verbatim>[^']*)'|"(?<escaped>[^"\\]*(?:\\[^][^"\\]*)*)")[ \t]*(?:#[^\n]*)?|(?<plain>(?![ \t]*['"`])[^\n]*))|(?:#[^\n]*)?)(?:\n|$)/y;

const lineBreaks = new Map([
  ["n", "\n"],
  ["r", "\r"],
]);

/**
 * Reads lines of `NAME=value` (docs/cli.md, "Keys and values"): `#` begins a comment at the start of
 * a line and after a blank; text in single quotes is verbatim; in double quotes, `\n` and `\r` are
 * line breaks, and a backslash is dropped before `\`, `"`, `$` and a backtick. Throws a UsageError
 * that names the line and quotes no value.
 */
export function parseEnvFile(bytes: Buffer, file: string): ReadonlyMap<string, string> {
  if (!isUtf8(bytes)) throw new UsageError(`${file} is not UTF-8; use KEY=@FILE`);
  const text = bytes
    .toString("utf8")
    .replace(/^\u{feff}/u, "")
    .replaceAll("\r\n", "\n");
  const values = new Map<string, string>();
  for (let at = 0; at < text.length; at = entry.lastIndex) {
    entry.lastIndex = at;
    const found = entry.exec(text)?.groups;
    if (found === undefined)
      throw new UsageError(
        `${file}: line ${text.slice(0, at).split("\n").length} must be NAME=value; put a value that begins with a quote or a backtick in quotes, and nothing but a comment behind them`,
      );
    const { name, verbatim, escaped, plain = "" } = found;
    if (name !== undefined)
      values.set(name, verbatim ?? unescaped(escaped) ?? withoutComment(plain));
  }
  if (values.size === 0) throw new UsageError(`${file} has no line NAME=value`);
  return values;
}

function unescaped(text: string | undefined): string | undefined {
  return text?.replaceAll(
    /\\([nr\\"$`])/g,
    (_, letter: string) => lineBreaks.get(letter) ?? letter,
  );
}

function withoutComment(text: string): string {
  const at = text.search(/[ \t]#/);
  return (at === -1 ? text : text.slice(0, at)).replaceAll(/^[ \t]+|[ \t]+$/g, "");
}
