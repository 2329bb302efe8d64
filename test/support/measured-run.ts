import { writeFileSync } from "node:fs";
import { performance } from "node:perf_hooks";

/** Prints a line with the time since the run began. */
export type Say = (line: string) => void;

/** A run that measures something on a cluster of its own. */
export interface MeasuredRun<C extends { stop(): Promise<void> }, R extends object> {
  /** The unit of the times that are printed. */
  readonly unit: "s" | "min";
  readonly start: (say: Say) => Promise<C>;
  readonly measure: (cluster: C, say: Say) => Promise<R>;
  /** The text at the end. */
  readonly summary: (result: R) => string;
}

/**
 * Starts the cluster, measures, stops the cluster, prints the summary, and writes the result to the
 * file of the variable JSON, if it is set.
 */
export async function runMeasured<C extends { stop(): Promise<void> }, R extends object>({
  unit,
  start,
  measure,
  summary,
}: MeasuredRun<C, R>): Promise<R> {
  const began = performance.now();
  const [divisor, width] = unit === "s" ? [1_000, 7] : [60_000, 5];
  const say = (line: string): void => {
    const time = ((performance.now() - began) / divisor).toFixed(1).padStart(width);
    process.stdout.write(`${time} ${unit}  ${line}\n`);
  };
  const cluster = await start(say);
  let result: R;
  try {
    result = await measure(cluster, say);
  } finally {
    await cluster.stop();
  }
  process.stdout.write(`\n${summary(result)}\n`);
  if (process.env.JSON) writeFileSync(process.env.JSON, `${JSON.stringify(result, null, 2)}\n`);
  return result;
}

/** The results of a work that is repeated this many times. */
export async function repeated<R>(
  times: number,
  work: (index: number) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  for (let index = 0; index < times; index += 1) results.push(await work(index));
  return results;
}

/** The results of works of different names, which are repeated in turns, so that all meet the same load. */
export async function inTurns<N extends string, R>(
  rounds: number,
  works: Readonly<Record<N, (round: number) => Promise<R>>>,
): Promise<Readonly<Record<N, readonly R[]>>>;
export async function inTurns<R>(
  rounds: number,
  works: Readonly<Record<string, (round: number) => Promise<R>>>,
): Promise<Readonly<Record<string, readonly R[]>>> {
  const results = Object.keys(works).map((name): [string, R[]] => [name, []]);
  for (let round = 0; round < rounds; round += 1)
    for (const [name, list] of results) {
      const work = works[name];
      if (work !== undefined) list.push(await work(round));
    }
  return Object.fromEntries(results);
}
