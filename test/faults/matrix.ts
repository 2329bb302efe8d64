import { type Fault, faults, type Moment } from "./faults.ts";
import type { Worker } from "./worker.ts";
import { type Expectation, expectationOf, judge, problemsOf } from "./oracles.ts";
import { type Outcome, play, type PlayOptions } from "./play.ts";
import type { Scenario } from "./scenarios.ts";

/** One run of the matrix. */
export interface Cell {
  readonly scenario: Scenario;
  readonly fault: Fault;
  readonly moment: Moment;
  readonly seed: number;
}

/** A cell that was played. */
export interface Played extends Cell {
  /** False when the run came to its end before the fault's moment. */
  readonly injected: boolean;
  /** Empty when all is well. */
  readonly problems: readonly string[];
  readonly trace: readonly string[];
}

/** How to learn: `lessons` is how often each scenario is played. */
export interface Learning {
  readonly seed: number;
  readonly lessons: number;
}

/** What each scenario comes to when nothing disturbs it. */
export async function learn(
  workers: readonly Worker[],
  scenarios: readonly Scenario[],
  { seed, lessons }: Learning,
): Promise<ReadonlyMap<Scenario, Expectation>> {
  const learned = new Map<Scenario, Expectation>();
  await onWorkers(workers, scenarios, async (worker, scenario) => {
    const outcomes: Outcome[] = [];
    for (let lesson = 0; lesson < lessons; lesson += 1)
      outcomes.push(await play({ worker, scenario, seed: seed + lesson }));
    learned.set(
      scenario,
      named(scenario, () => expectationOf(outcomes, scenario.retryAllowance)),
    );
  });
  return learned;
}

/** Every fault at every write and before every change. */
export function cellsOf(
  learned: ReadonlyMap<Scenario, Expectation>,
  seed: number,
): readonly Cell[] {
  return [...learned].flatMap(([scenario, { calls, changes }]) =>
    faults.flatMap((fault) => {
      const moments = fault.moments.flatMap((at) =>
        Array.from({ length: at === "call" ? calls : changes }, (_, index): Moment => ({
          at,
          number: index + 1,
        })),
      );
      return moments.map((moment) => ({ scenario, fault, moment, seed }));
    }),
  );
}

/** What a run is called: what it takes to repeat it. */
export function cellName({ scenario, fault, moment, seed }: Cell): string {
  return `${scenario.name} / ${fault.name} / ${moment.at} ${moment.number} / seed ${seed}`;
}

/** What playing cells needs. */
export interface MatrixOptions extends Pick<PlayOptions, "assemble"> {
  readonly learned: ReadonlyMap<Scenario, Expectation>;
  readonly onPlayed: (played: Played) => void;
}

/** Plays all cells, as many at a time as there are workers. */
export async function playAll(
  workers: readonly Worker[],
  cells: readonly Cell[],
  { learned, onPlayed, ...options }: MatrixOptions,
): Promise<void> {
  await onWorkers(workers, cells, async (worker, cell) => {
    const { scenario, fault, moment, seed } = cell;
    const expected = learned.get(scenario);
    if (expected === undefined) throw new Error(`nothing was learned of ${scenario.name}`);
    const outcome = await play({
      worker,
      scenario,
      seed,
      injection: { fault, moment },
      ...options,
    });
    onPlayed({
      ...cell,
      injected: outcome.injectedAt !== undefined,
      problems: problemsOf(judge(outcome, expected, fault)),
      trace: outcome.trace,
    });
  });
}

/** Does the work for all items, one after the other in each worker. */
export async function onWorkers<T>(
  workers: readonly Worker[],
  items: readonly T[],
  work: (worker: Worker, item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const follow = async (worker: Worker) => {
    for (const item of rest) await work(worker, item);
  };
  await Promise.all(workers.map(follow));
}

function named<T>(scenario: Scenario, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Error(`${scenario.name}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}
