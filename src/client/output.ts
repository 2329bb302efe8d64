import { isUtf8 } from "node:buffer";
import { dump, type DumpOptions, SCALAR_STYLE, visit } from "js-yaml";
import type { ObjectRef } from "../api/object.ts";
import type { Resource } from "../api/resources.ts";
import { spanText } from "../domain/lifetime.ts";
import { timestamp } from "../domain/plan/conditions.ts";
import { printable } from "./failure.ts";
import type { Terminal } from "./terminal.ts";

/** Prints rows in columns that are as wide as their longest cell, separated by three spaces. */
export function tableText(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((row) => row.map(printable));
  const widths = head.map((_, at) => Math.max(...lines.map((line) => width(line[at] ?? ""))));
  return lines
    .map((line) => {
      const cells = line.map((cell, at) => cell + " ".repeat((widths[at] ?? 0) - width(cell)));
      return `${cells.join("   ").trimEnd()}\n`;
    })
    .join("");
}

function width(text: string): number {
  return Array.from(text).length;
}

/** What a terminal obeys, or what reorders its text, but line breaks and tabs. */
const obeyed = /(?![\n\t])\p{Cc}|\p{Bidi_Control}/gu;

/** Text with control and direction characters as escapes of JSON, such as `\u001b`. */
export function visibleText(text: string): string {
  return text.replaceAll(
    obeyed,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** JSON with the indentation of kubectl, which every terminal shows as it is. */
export function jsonText(content: unknown): string {
  return visibleText(`${JSON.stringify(content, undefined, 4)}\n`);
}

/** A YAML document, which every terminal shows as it is. */
export function yamlText(content: unknown): string {
  // YAML has escapes in double quotes only.
  const transform: DumpOptions["transform"] = (documents) =>
    visit(documents, (node) => {
      if (node.kind === "scalar" && visibleText(node.value) !== node.value)
        node.style = SCALAR_STYLE.DOUBLE_QUOTED;
    });
  return visibleText(dump(content, { lineWidth: -1, noRefs: true, transform }));
}

/**
 * Prints a value: as it is into a pipe or a file, and with escapes on a terminal, which it says.
 */
export function printValue(
  value: string | Buffer,
  { print, say, isOutput }: Pick<Terminal, "print" | "say" | "isOutput">,
): void {
  if (!isOutput) return print(value);
  const shown = typeof value === "string" ? visibleText(value) : visibleBytes(value);
  print(shown.endsWith("\n") ? shown : `${shown}\n`);
  if (shown !== value.toString())
    say(
      "control characters are escaped on a terminal; " +
        "write the output to a pipe or a file to get the value as it is",
    );
}

/** Bytes that are no text have escapes such as `\xff`. */
function visibleBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) return visibleText(bytes.toString("utf8"));
  return bytes
    .toString("latin1")
    .replaceAll(
      /[^\n\t\x20-\x7e]/g,
      (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, "0")}`,
    );
}

/** What a command did to an object, as kubectl says it: `sharedsecret/database set password`. */
export function doneText({ kind }: Resource, { name }: ObjectRef, what: string): string {
  return `${kind.toLowerCase()}/${printable(`${name} ${what}`)}\n`;
}

/** The same of what was done, or only tried in a dry run. */
export function triedText(what: string, dryRun: boolean): string {
  return dryRun ? `${what} (server dry run)` : what;
}

/** The format of a result for programs; a text for people without one. */
export type ResultFormat = "json" | "yaml" | undefined;

/** A result in the chosen format; `text` without one. */
export function resultText(output: ResultFormat, content: unknown, text: () => string): string {
  switch (output) {
    case "json":
      return jsonText(content);
    case "yaml":
      return yamlText(content);
    case undefined:
      return text();
  }
}

const colors = { good: 32, bad: 31, faint: 2 } as const;

/** Paints text with the colors of a terminal, or not. */
export type Paint = (text: string, color: keyof typeof colors) => string;

/** Returns a function that paints if `isColored`. */
export function paintWith(isColored: boolean): Paint {
  return (text, color) => (isColored ? `\u{1b}[${colors[color]}m${text}\u{1b}[0m` : text);
}

/** The lifetime of a key or token: what was asked for, and what came of it. */
interface AskedLifetime {
  /** Seconds; 0 is no end. */
  readonly ttl: number;
  readonly isIdle: boolean;
  /** Instants in milliseconds since the epoch; without `endsAt`, the end is not known or never. */
  readonly startsAt: number;
  readonly endsAt: number | undefined;
}

/**
 * When a key or token ends, as the predicate of a sentence, and whether that is earlier than asked.
 */
export function endText({ ttl, isIdle, startsAt, endsAt }: AskedLifetime): string {
  const since = isIdle ? "its last use" : "its creation";
  if (endsAt === undefined)
    return ttl === 0
      ? "does not expire; --ttl sets a lifetime"
      : `ends ${spanText(ttl)} after ${since}`;
  const seconds = Math.round((endsAt - startsAt) / 1000);
  const cut =
    ttl === 0
      ? "; no key lives longer here"
      : seconds < ttl
        ? `; its lifetime of ${spanText(ttl)} was cut`
        : "";
  return `ends ${spanText(seconds)} after ${since}, at ${timestamp(endsAt)}${cut}`;
}
