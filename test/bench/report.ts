/** The resources that a controller used for a piece of work. */
export interface Usage {
  /** Requests that got a response from the API server, by HTTP method; a watch is a GET. */
  readonly requests: Readonly<Record<string, number>>;
  readonly cpuSeconds: number;
  /** Resident memory when the work was done, in megabytes. */
  readonly residentMB: number;
  /** The longest time that the event loop was blocked, in milliseconds. */
  readonly blockMs: number;
}

/** One line of the table; `unit` belongs to `measured` and `ceiling`. */
export interface Row {
  readonly name: string;
  readonly measured: number;
  readonly unit: string;
  /** The result of a bare client with the same kind of write, in the same run. */
  readonly ceiling?: number;
  /** The goal, in words. */
  readonly wanted?: string;
  /** Whether the goal was met; undefined without a goal. */
  readonly met?: boolean;
  /** Creates and replaces for each target that changed. */
  readonly writesPerTarget?: number;
  readonly usage?: Usage;
  readonly note?: string;
}

/** Measured divided by its ceiling. */
export function ratioOf({
  measured,
  ceiling,
}: Pick<Row, "measured" | "ceiling">): number | undefined {
  return ceiling === undefined ? undefined : measured / ceiling;
}

type Column = readonly [title: string, of: (row: Row) => string];

const columns: readonly Column[] = [
  ["what", ({ name }) => name],
  ["measured", ({ measured, unit }) => `${shown(measured)} ${unit}`],
  ["ceiling", ({ ceiling }) => (ceiling === undefined ? "" : shown(ceiling))],
  ["ratio", (row) => ratioOf(row)?.toFixed(2) ?? ""],
  ["wanted", ({ wanted = "", met }) => `${wanted}${met === false ? " (missed)" : ""}`],
  ["writes/target", ({ writesPerTarget }) => writesPerTarget?.toFixed(2) ?? ""],
  ["GETs", ({ usage }) => (usage === undefined ? "" : String(usage.requests.GET ?? 0))],
  ["CPU s", ({ usage }) => usage?.cpuSeconds.toFixed(2) ?? ""],
  ["RSS MB", ({ usage }) => usage?.residentMB.toFixed(0) ?? ""],
  ["block ms", ({ usage }) => usage?.blockMs.toFixed(0) ?? ""],
  ["note", ({ note = "" }) => note],
];

/** The rows as a Markdown table with aligned columns, for a terminal. */
export function table(rows: readonly Row[]): string {
  const lines = [
    columns.map(([title]) => title),
    ...rows.map((row) => columns.map(([, of]) => of(row))),
  ];
  const widths = columns.map((_, index) =>
    Math.max(3, ...lines.map((cells) => cells[index]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(" | ")} |`;
  const [head = [], ...body] = lines;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}

/** A number with three significant digits, or rounded to an integer. */
export function shown(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return Number.isFinite(value) ? value.toFixed(digits) : "?";
}
