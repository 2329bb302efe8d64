/** How a part shares the machine. */
export interface Placed {
  /** Whether it uses one core, and measures nothing that another part disturbs. */
  readonly onOneCore?: boolean;
}

/** The parts in groups that run one after the other: parts on one core side by side. */
export function atSameTime<T extends Placed>(parts: readonly T[]): readonly (readonly T[])[] {
  const groups: T[][] = [];
  for (const part of parts) {
    const last = groups.at(-1);
    if (part.onOneCore === true && last?.[0]?.onOneCore === true) last.push(part);
    else groups.push([part]);
  }
  return groups;
}

/** A part that has run. */
export interface Verified {
  readonly name: string;
  readonly seconds: number;
  readonly passed: boolean;
  /** What it counted, in words; empty if it printed no count. */
  readonly counts: string;
}

/** The closing lines of vitest, of `faults`, `walks` and `search`, `soak`, `fuzz` and `bench`. */
const countLines = [
  /^ +Tests +(.+)$/gm,
  /^\d+ runs with 1 seed .*$/gm,
  /^\d+ walks .*: \d+ failed.*$/gm,
  /^\d+ states of .*$/gm,
  /^.*\bchanges +\d+ made.*$/gm,
  /^(?:ok|FAILED) +\d+ runs .*$/gm,
];

/** What a part says that it has run, from its output. */
export function countsIn(output: string): string {
  const [first = []] = countLines
    .map((pattern) => [...output.matchAll(pattern)])
    .filter((found) => found.length > 0);
  const last = first.at(-1);
  if (last === undefined) return "";
  if (last[1] !== undefined) return last[1].trim();
  if (!/^(?:ok|FAILED)/.test(last[0])) return last[0].trim();
  const runs = first.map(([line]) => Number(/\d+/.exec(line)?.[0] ?? 0));
  return `${runs.reduce((sum, count) => sum + count, 0)} inputs to ${first.length} targets`;
}

/** The parts as a table: part, result, seconds, counts; and a row with the `seconds` of all. */
export function tableOf(verified: readonly Verified[], seconds: number): string {
  const rows = verified.map(({ name, seconds, passed, counts }) => [
    ...[name, passed ? "passed" : "FAILED", String(seconds), counts],
  ]);
  const failed = verified.filter(({ passed }) => !passed).length;
  const all = [
    ["part", "result", "seconds", "counts"],
    ...rows,
    ["all", failed === 0 ? "passed" : `${failed} FAILED`, String(seconds), ""],
  ];
  const width = (column: number) => Math.max(...all.map((row) => (row[column] ?? "").length));
  return all
    .map((row) =>
      row
        .map((cell, column) =>
          column === 2 ? cell.padStart(width(column)) : cell.padEnd(width(column)),
        )
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
