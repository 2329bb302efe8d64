import { dump } from "js-yaml";
import { printable } from "./failure.ts";

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

/** JSON with the indentation of kubectl. */
export function jsonText(content: unknown): string {
  return `${JSON.stringify(content, undefined, 4)}\n`;
}

/** A YAML document. */
export function yamlText(content: unknown): string {
  return dump(content, { lineWidth: -1, noRefs: true });
}

/** A result in the chosen format; `text` without one. */
export function resultText(
  output: "json" | "yaml" | undefined,
  content: unknown,
  text: () => string,
): string {
  switch (output) {
    case "json":
      return jsonText(content);
    case "yaml":
      return yamlText(content);
    case undefined:
      return text();
  }
}

/** A time span as kubectl prints it: `90s`, `15m`, `5h30m`, `12d`. */
export function spanText(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 120) return `${whole}s`;
  if (whole < 7200) return `${Math.floor(whole / 60)}m`;
  if (whole < 172_800) {
    const minutes = Math.floor((whole % 3600) / 60);
    return `${Math.floor(whole / 3600)}h${minutes === 0 ? "" : `${minutes}m`}`;
  }
  return `${Math.floor(whole / 86_400)}d`;
}

const colors = { good: 32, bad: 31, faint: 2 } as const;

/** Paints text with the colors of a terminal, or not. */
export type Paint = (text: string, color: keyof typeof colors) => string;

/** Returns a function that paints if `isColored`. */
export function paintWith(isColored: boolean): Paint {
  return (text, color) => (isColored ? `\u{1b}[${colors[color]}m${text}\u{1b}[0m` : text);
}
