/** The cells of a table of text: one row a line, `|` between cells; a line with `|` goes on. */
export function cellsOf(table: string): readonly (readonly string[])[] {
  const rows = table.replaceAll(/\n\s*\|/g, " |").split("\n");
  return rows.flatMap((row) =>
    row.trim() === "" ? [] : [row.split(/\s\|(?=\s)/).map((cell) => cell.trim())],
  );
}
