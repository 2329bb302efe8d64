import { percentile } from "../support/percentile.ts";

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
  readonly wanted?: string | undefined;
  /** Whether the goal was met; undefined without a goal. */
  readonly met?: boolean | undefined;
  /** Creates and replaces for each target that changed. */
  readonly writesPerTarget?: number | undefined;
  readonly usage?: Usage | undefined;
  readonly note?: string | undefined;
}

/** What a row may say besides its figure. */
export interface RowDetails extends Pick<Row, "ceiling" | "writesPerTarget" | "usage" | "note"> {
  /** The goal of the figure, such as `< 50 ms` or `>= 2000/s`; without a sign, exactly this. */
  readonly goal?: string | undefined;
  /** The goal of the figure divided by its ceiling. */
  readonly ratioGoal?: string | undefined;
}

/** A row of the table, with whether its goal is met. */
export function row(
  name: string,
  [measured, unit]: readonly [measured: number, unit: string],
  { goal, ratioGoal, ...details }: RowDetails = {},
): Row {
  const wanted = goal ?? ratioGoal;
  const judged = goal === undefined ? measured / (details.ceiling ?? Number.NaN) : measured;
  const verdict = wanted !== undefined && { wanted, met: isMet(judged, wanted) };
  return { name, measured, unit, ...verdict, ...details };
}

function isMet(value: number, goal: string): boolean {
  const [, sign, text] = /^(<=|>=|<)? ?([\d.]+)/.exec(goal) ?? [];
  const limit = Number(text);
  if (sign === undefined) return value === limit;
  return sign === "<" ? value < limit : sign === "<=" ? value <= limit : value >= limit;
}

/** The row of a latency: its 99th percentile, with the median as a note. */
export function latencyRow(name: string, values: readonly number[], details: RowDetails = {}): Row {
  const p50 = `p50 ${percentile(values, 0.5).toFixed(1)} ms, n ${values.length}`;
  const note = details.note === undefined ? p50 : `${p50}, ${details.note}`;
  return row(name, [percentile(values, 0.99), "ms p99"], { ...details, note });
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
