import { shuffled } from "../support/seeded-random.ts";
import { ofClusters } from "./cluster-scenarios.ts";
import { type Cell, learn, playAll } from "./matrix.ts";
import type { Expectation } from "./oracles.ts";
import { type ProcessFault, processFaults } from "./process-faults.ts";
import { inRealTime, playProcess, type ProcessPlayOptions } from "./process-play.ts";
import type { Scenario } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import type { Worker } from "./worker.ts";

/** The population of a sample, and the workers that play it. */
export interface SampleOptions {
  readonly workers: readonly Worker[];
  readonly program: string;
  readonly seed: number;
  readonly runs: number;
}

/** The result of a sample; problems by run, empty if all passed. */
export interface SampleResult {
  readonly scenarios: number;
  readonly runs: number;
  /** Runs that reached the write at which the fault is injected. */
  readonly injected: number;
  readonly problems: Readonly<Record<string, readonly string[]>>;
}

/** One scenario for every four runs, and at least three; a real process cannot move its clock. */
function drawn({ seed, runs }: SampleOptions): readonly Scenario[] {
  const anywhere = { prefix: "", system: "" };
  const movesClock = (scenario: Scenario) =>
    scenario.changes(anywhere).some((change) => "passMs" in change || "leapMs" in change);
  return shuffled(
    scenarios.filter(
      (scenario) =>
        scenario.programs === undefined &&
        !movesClock(scenario) &&
        // A status says what clusters report at most once in 10 s.
        !ofClusters.includes(scenario),
    ),
    seed,
  )
    .slice(0, Math.max(3, Math.ceil(runs / 4)))
    .map(inRealTime);
}

/** Plays some scenarios undisturbed, and then each fault at pseudo-random writes. */
export async function playSample(options: SampleOptions): Promise<SampleResult> {
  const { workers, program, seed } = options;
  const play = (of: Omit<ProcessPlayOptions, "program">) => playProcess({ ...of, program });
  const learned = await learn(workers, drawn(options), { seed, lessons: 1, play });
  const cells = cellsOf(learned, options);
  const problems: Record<string, readonly string[]> = {};
  let injected = 0;
  await playAll(workers, cells, {
    learned,
    play,
    onPlayed({ scenario, fault, moment, injectedAt, problems: found }) {
      if (injectedAt !== undefined) injected += 1;
      const name = `${scenario.name} / ${fault.name} / write ${moment.number}`;
      if (found.length > 0) problems[`${name} (${injectedAt ?? "never came"})`] = found;
    },
  });
  return { scenarios: learned.size, runs: cells.length, injected, problems };
}

/** The same number of each fault, at writes of all scenarios. */
function cellsOf(
  learned: ReadonlyMap<Scenario, Expectation>,
  { seed, runs }: SampleOptions,
): readonly Cell<ProcessFault>[] {
  const writes = [...learned].flatMap(([scenario, { calls }]) =>
    Array.from({ length: calls }, (_, index) => ({
      scenario,
      moment: { at: "call" as const, number: index + 1 },
    })),
  );
  const each = Math.ceil(runs / processFaults.length);
  const cells = processFaults.flatMap((fault, index) =>
    shuffled(writes, seed + index)
      .slice(0, each)
      .map((write) => ({ ...write, fault, seed })),
  );
  // The long ones first, so that no worker waits for one of them at the end.
  return cells.toReversed();
}
