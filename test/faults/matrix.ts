import type { Moment } from "./fault.ts";
import { type Expectation, expectationOf, judge, type JudgedFault, problemsOf } from "./oracles.ts";
import type { Outcome } from "./play.ts";
import type { Scenario } from "./scenario.ts";
import type { Worker } from "./worker.ts";

/** A fault at a moment of a scenario: one run of the matrix. */
export interface Cell<F> {
  readonly scenario: Scenario;
  readonly fault: F;
  readonly moment: Moment;
  readonly seed: number;
}

/** A cell with its result. */
export interface Played<F> extends Cell<F> {
  /** Undefined if the run ended before the fault's moment. */
  readonly injectedAt: string | undefined;
  /** Empty if the run passed. */
  readonly problems: readonly string[];
  readonly trace: readonly string[];
}

/** Plays a scenario, undisturbed unless a fault is injected. */
export type Play<F> = (options: {
  readonly worker: Worker;
  readonly scenario: Scenario;
  readonly seed: number;
  readonly injection?: { readonly fault: F; readonly moment: Moment };
}) => Promise<Outcome>;

/** Options of the undisturbed runs: `lessons` is how often each scenario is played. */
export interface Learning {
  readonly seed: number;
  readonly lessons: number;
  readonly play: Play<never>;
}

/** The expected result of each scenario, from undisturbed runs. */
export async function learn(
  workers: readonly Worker[],
  scenarios: readonly Scenario[],
  { seed, lessons, play }: Learning,
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

/** Each of these faults at every write, at every read of a Secret, and before every change. */
export function cellsOf<F extends { readonly moments: readonly Moment["at"][] }>(
  learned: ReadonlyMap<Scenario, Expectation>,
  faults: readonly F[],
  seed: number,
): readonly Cell<F>[] {
  return [...learned].flatMap(([scenario, { calls: call, reads: read, changes: change }]) =>
    faults.flatMap((fault) => {
      const moments = fault.moments.flatMap((at) =>
        Array.from({ length: { call, read, change }[at] }, (_, index): Moment => ({
          at,
          number: index + 1,
        })),
      );
      return moments.map((moment) => ({ scenario, fault, moment, seed }));
    }),
  );
}

/** The name of a run, with everything that is needed to repeat it. */
export function cellName({
  scenario,
  fault,
  moment,
  seed,
}: Cell<{ readonly name: string }>): string {
  return `${scenario.name} / ${fault.name} / ${moment.at} ${moment.number} / seed ${seed}`;
}

/** The options of a matrix. */
export interface MatrixOptions<F> {
  readonly learned: ReadonlyMap<Scenario, Expectation>;
  readonly play: Play<F>;
  readonly onPlayed: (played: Played<F>) => void;
}

/** Plays all cells, one at a time on each worker. */
export async function playAll<F extends JudgedFault>(
  workers: readonly Worker[],
  cells: readonly Cell<F>[],
  { learned, play, onPlayed }: MatrixOptions<F>,
): Promise<void> {
  await onWorkers(workers, cells, async (worker, cell) => {
    const { scenario, fault, moment, seed } = cell;
    const expected = learned.get(scenario);
    if (expected === undefined) throw new Error(`nothing was learned of ${scenario.name}`);
    const outcome = await play({ worker, scenario, seed, injection: { fault, moment } });
    onPlayed({
      ...cell,
      injectedAt: outcome.injectedAt,
      problems: problemsOf(judge(outcome, expected, fault)),
      trace: outcome.trace,
    });
  });
}

/** Runs the work for all items, one after the other on each worker. */
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
