/** How a part shares the machine. */
export interface Placed {
  /** Whether it needs about one core, and measures nothing that another part disturbs. */
  readonly onOneCore?: boolean;
}

/** Runs parts in their order on two cores: each starts as soon as the cores it needs are free. */
export async function onTwoCores<T extends Placed, R>(
  parts: readonly T[],
  run: (part: T) => Promise<R>,
): Promise<readonly R[]> {
  const started: Promise<R>[] = [];
  const running = new Set<Promise<R>>();
  let free = 2;
  for (const part of parts) {
    const cores = part.onOneCore === true ? 1 : 2;
    while (free < cores) await Promise.race(running);
    free -= cores;
    const ended = run(part).finally(() => {
      free += cores;
      running.delete(ended);
    });
    started.push(ended);
    running.add(ended);
  }
  return Promise.all(started);
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
