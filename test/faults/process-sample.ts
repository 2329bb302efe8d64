import type { Worker } from "./worker.ts";
import { onWorkers } from "./matrix.ts";
import { type Expectation, expectationOf, judge, problemsOf } from "./oracles.ts";
import { type ProcessFault, processFaults } from "./process-faults.ts";
import { inRealTime, playProcess } from "./process-play.ts";
import { type Scenario, scenarios } from "./scenarios.ts";
import { shuffled } from "../support/seeded-random.ts";

/** A fault at one write of a scenario. */
interface ProcessCell {
  readonly scenario: Scenario;
  readonly fault: ProcessFault;
  readonly write: number;
}

/** What a sample is drawn from, and where it is played. */
export interface SampleOptions {
  readonly workers: readonly Worker[];
  readonly program: string;
  readonly seed: number;
  readonly runs: number;
}

/** What came of a sample; problems by run, none where all is well. */
export interface SampleResult {
  readonly scenarios: number;
  readonly runs: number;
  /** Runs that came to the write at which the fault is injected. */
  readonly injected: number;
  readonly problems: Readonly<Record<string, readonly string[]>>;
}

/** One scenario for every four runs, and three at least. */
function drawn({ seed, runs }: SampleOptions): readonly Scenario[] {
  return shuffled(
    scenarios.filter(({ programs }) => programs === undefined),
    seed,
  )
    .slice(0, Math.max(3, Math.ceil(runs / 4)))
    .map(inRealTime);
}

/** Plays some scenarios undisturbed, and then each fault at writes that follow from the seed. */
export async function playSample(options: SampleOptions): Promise<SampleResult> {
  const { workers, program } = options;
  const learned = new Map<Scenario, Expectation>();
  await onWorkers(workers, drawn(options), async (worker, scenario) => {
    learned.set(scenario, expectationOf([await playProcess({ worker, program, scenario })]));
  });
  const cells = cellsOf(learned, options);
  const problems: Record<string, readonly string[]> = {};
  let injected = 0;
  await onWorkers(workers, cells, async (worker, { scenario, fault, write }) => {
    const outcome = await playProcess({ worker, program, scenario, injection: { fault, write } });
    const expected = learned.get(scenario);
    if (expected === undefined) throw new Error(`nothing was learned of ${scenario.name}`);
    if (outcome.injectedAt !== undefined) injected += 1;
    const losesEvents = outcome.injectedAt?.includes(" events ") === true;
    const found = problemsOf(judge(outcome, expected, { ...fault, losesEvents }));
    if (found.length > 0)
      problems[
        `${scenario.name} / ${fault.name} / write ${write} (${outcome.injectedAt ?? "never came"})`
      ] = found;
  });
  return { scenarios: learned.size, runs: cells.length, injected, problems };
}

/** As many of each fault, at writes drawn from all scenarios. */
function cellsOf(
  learned: ReadonlyMap<Scenario, Expectation>,
  { seed, runs }: SampleOptions,
): readonly ProcessCell[] {
  const writes = [...learned].flatMap(([scenario, { calls }]) =>
    Array.from({ length: calls }, (_, index) => ({ scenario, write: index + 1 })),
  );
  const each = Math.ceil(runs / processFaults.length);
  const cells = processFaults.flatMap((fault, index) =>
    shuffled(writes, seed + index)
      .slice(0, each)
      .map((write) => ({ ...write, fault })),
  );
  // The long ones first, so that no worker waits for one of them in the end.
  return cells.toReversed();
}
