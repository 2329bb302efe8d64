/** A table as oxfmt formats it; the first row is its head. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const [head = [], ...others] = rows.map((row) => row.map(escaped));
  const widths = head.map((_, at) =>
    Math.max(...[head, ...others].map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |\n`;
  return [head, widths.map((width) => "-".repeat(width)), ...others].map(line).join("");
}

/** Markdown of a cell: a bar ends a cell, and `<` outside of code begins a tag. */
function escaped(cell: string): string {
  const bars = cell.replaceAll("|", "\\|");
  return bars.replaceAll(/`[^`]*`|</g, (part) => (part === "<" ? "\\<" : part));
}
