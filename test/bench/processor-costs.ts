import { setTimeout as pause } from "node:timers/promises";
import { performance } from "node:perf_hooks";
import { processorSeconds } from "../support/processor-time.ts";

/** The running processes whose processor time is measured: pids by name. */
export type Processes = Readonly<Record<string, number>>;

/** Milliseconds of processor time by the name of the process. */
export type Costs = Readonly<Record<string, number>>;

/** Work that is repeated. */
export interface Load {
  readonly name: string;
  /** Creates what the work needs; not measured. */
  prepare?(count: number, round: number): Promise<void>;
  /** Works until nothing more follows from it; returns the number of measured items. */
  run(count: number, round: number): Promise<number>;
  /** Removes what a round has created; not measured. */
  clean?(): Promise<void>;
  /** What else there is to say of all rounds. */
  note?(): readonly string[];
}

/** How often each load is repeated. */
export interface Rounds {
  readonly rounds: number;
  /** Items of each load in a round. */
  readonly count: number;
}

/** The first items of a load, which are not measured. */
const warmUp = 20;
const idleMs = 4_000;

/**
 * The mean costs of an item of each load, by the name of the load. The loads run in turns, every
 * second round in the opposite order. What the processes use while nothing runs is subtracted.
 */
export async function costsInTurns(
  loads: readonly Load[],
  { rounds, count }: Rounds,
  processes: Processes,
): Promise<ReadonlyMap<string, Costs>> {
  for (const load of loads) {
    await load.prepare?.(warmUp, rounds);
    await load.run(warmUp, rounds);
    await load.clean?.();
  }
  const idle = await usedDuring(processes, () => pause(idleMs));
  const sums = new Map(
    loads.map(({ name }) => [name, { items: 0, used: new Map<string, number>() }]),
  );
  for (let round = 0; round < rounds; round += 1)
    for (const load of round % 2 === 0 ? loads : loads.toReversed()) {
      await load.prepare?.(count, round);
      const began = performance.now();
      const sum = sums.get(load.name);
      if (sum === undefined) continue;
      const used = await usedDuring(processes, async () => {
        sum.items += await load.run(count, round);
      });
      const idleShare = (performance.now() - began) / idleMs;
      for (const [name, ms] of Object.entries(used))
        sum.used.set(name, (sum.used.get(name) ?? 0) + ms - (idle[name] ?? 0) * idleShare);
      await load.clean?.();
    }
  return new Map(
    [...sums].map(([name, { items, used }]) => [
      name,
      Object.fromEntries([...used].map(([process, ms]) => [process, ms / items])),
    ]),
  );
}

/** The processor time of each process while the work runs. */
export async function usedDuring(
  processes: Processes,
  work: () => Promise<unknown>,
): Promise<Costs> {
  const before = processorMs(processes);
  await work();
  const after = processorMs(processes);
  return Object.fromEntries(
    Object.keys(processes).map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]),
  );
}

function processorMs(processes: Processes): Costs {
  return Object.fromEntries(
    Object.entries(processes).map(([name, pid]) => [
      name,
      (processorSeconds(pid) ?? Number.NaN) * 1000,
    ]),
  );
}
