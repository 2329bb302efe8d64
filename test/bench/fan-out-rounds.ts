import { performance } from "node:perf_hooks";
import { labels } from "../../src/api/names.ts";
import { ceilingName, plainName } from "../support/bench-objects.ts";
import type { BenchFixture, Running } from "./bench-fixture.ts";
import { type Costs, type Processes, usedDuring } from "./processor-costs.ts";
import type { Usage } from "./report.ts";

/** Writes to all targets by Latchkey. */
export interface Round {
  readonly firstMs: number;
  readonly ms: number;
  readonly costs: Costs;
  readonly usage: Usage;
}

/** Writes to all targets by the bare client. */
export type BareRound = Omit<Round, "usage">;

/** Measures rounds: the processor time of all processes, and what the controller reports. */
export function timerOf(
  { servers }: BenchFixture,
  running: Running,
): {
  bare(work: () => Promise<Arrivals>): Promise<BareRound>;
  latchkey(work: () => Promise<Arrivals>): Promise<Round>;
} {
  const processes: Processes = { ...servers, controller: running.pid, bench: process.pid };
  const bare = async (work: () => Promise<Arrivals>): Promise<BareRound> => {
    const began = performance.now();
    let arrivals: Arrivals = { first: Number.NaN, last: Number.NaN };
    const costs = await usedDuring(processes, async () => {
      arrivals = await work();
    });
    return { firstMs: arrivals.first - began, ms: arrivals.last - began, costs };
  };
  return {
    bare,
    async latchkey(work) {
      const end = await running.readings.begin();
      const round = await bare(work);
      // The last responses to the controller may still be pending when the watch has delivered the
      // events of their writes.
      return { ...round, usage: await end() };
    },
  };
}

/** When the first and the last event of a change arrived, on the clock of `performance`. */
export interface Arrivals {
  readonly first: number;
  readonly last: number;
}

/** The times of events; one number of them is awaited at a time. */
class Count {
  readonly #times: number[] = [];
  #wake: { readonly count: number; readonly resolve: () => void } | undefined;

  /** Waits for this many events that no earlier call has taken. */
  async take(count: number): Promise<Arrivals> {
    if (this.#times.length < count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = { count, resolve };
      await promise;
    }
    const taken = this.#times.splice(0, count);
    return { first: taken[0] ?? Number.NaN, last: taken.at(-1) ?? Number.NaN };
  }

  add(at: number): void {
    this.#times.push(at);
    if (this.#times.length === this.#wake?.count) this.#wake.resolve();
  }
}

/**
 * Counts the events of Latchkey's Secrets and of the bare clients', without parsing the lines. All
 * are on the same watch, which would otherwise cost the API server more for the one than for the
 * other.
 */
export async function countArrivals({ admin }: BenchFixture): Promise<{
  readonly latchkey: Pick<Count, "take">;
  readonly bare: Pick<Count, "take">;
  readonly plain: Pick<Count, "take">;
  readonly stop: () => void;
}> {
  const [latchkey, bare, plain] = [new Count(), new Count(), new Count()];
  const named = (name: string): string => `"name":"${name}"`;
  const counts = [
    [`"${labels.sourceUid}":`, latchkey],
    [named(ceilingName), bare],
    [named(plainName), plain],
  ] as const;
  const stop = await admin.watch("/api/v1/secrets", (line, at) => {
    counts.find(([text]) => line.includes(text))?.[1].add(at);
  });
  return { latchkey, bare, plain, stop };
}
