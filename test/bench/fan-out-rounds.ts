import { performance } from "node:perf_hooks";
import { labels } from "../../src/api/names.ts";
import { ceilingName, metadataOf, parsed } from "../support/bench-objects.ts";
import type { BenchFixture, Running } from "./bench-fixture.ts";
import { type Costs, type Processes, usedDuring } from "./processor-costs.ts";
import type { Usage } from "./report.ts";

/** Writes to all targets by Latchkey. */
export interface Round {
  readonly ms: number;
  readonly costs: Costs;
  readonly usage: Usage;
}

/** Writes to all targets by the bare client. */
export type BareRound = Pick<Round, "ms" | "costs">;

/** Measures rounds: the processor time of all processes, and what the controller reports. */
export function timerOf(
  { controlPlane }: BenchFixture,
  running: Running,
): {
  bare(work: () => Promise<number>): Promise<BareRound>;
  latchkey(work: () => Promise<number>): Promise<Round>;
} {
  const processes: Processes = {
    "kube-apiserver": controlPlane.pidOf("kube-apiserver") ?? 0,
    etcd: controlPlane.pidOf("etcd") ?? 0,
    controller: running.pid,
    bench: process.pid,
  };
  const bare = async (work: () => Promise<number>): Promise<BareRound> => {
    const began = performance.now();
    let ms = 0;
    const costs = await usedDuring(processes, async () => {
      ms = (await work()) - began;
    });
    return { ms, costs };
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

/** Counts events; one number is awaited at a time. */
class Count {
  #seen = 0;
  #wake: { readonly count: number; readonly resolve: (at: number) => void } | undefined;

  /** Resolves to the time of the event with this number. */
  reach(count: number): Promise<number> {
    if (this.#seen >= count) return Promise.resolve(performance.now());
    return new Promise((resolve) => void (this.#wake = { count, resolve }));
  }

  add(at: number): void {
    this.#seen += 1;
    if (this.#seen === this.#wake?.count) this.#wake.resolve(at);
  }
}

/**
 * Counts the events of Latchkey's Secrets and of the bare client's, without parsing the lines. Both
 * are on the same watch, which would otherwise cost the API server more for the one than for the
 * other.
 */
export async function countArrivals({ admin }: BenchFixture): Promise<{
  readonly latchkey: Pick<Count, "reach">;
  readonly bare: Pick<Count, "reach">;
  readonly stop: () => void;
}> {
  const [latchkey, bare] = [new Count(), new Count()];
  const { resourceVersion } = metadataOf(
    parsed(await admin.send({ method: "GET", path: "/api/v1/secrets?limit=1" })),
  );
  const [ofLatchkey, ofBare] = [`"${labels.sourceUid}":`, `"name":"${ceilingName}"`];
  const watch = admin.watch(
    `/api/v1/secrets?watch=1&resourceVersion=${resourceVersion}`,
    (line, at) => {
      if (line.includes(ofLatchkey)) latchkey.add(at);
      else if (line.includes(ofBare)) bare.add(at);
    },
  );
  await watch.opened;
  return { latchkey, bare, stop: watch.stop };
}
