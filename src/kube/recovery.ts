import type { Cancel, Clock } from "../runtime/clock.ts";
import { sleep } from "../runtime/sleep.ts";

/**
 * Ends all back-off waits at the first request that succeeds after failures, so that a process has
 * one back-off after an outage and not one for each kind.
 */
export class Recovery {
  readonly #listeners = new Set<() => void>();
  #count = 0;

  /** Number of recoveries. */
  get count(): number {
    return this.#count;
  }

  /** Calls `listener` at every recovery until it is cancelled. */
  onRecovered(listener: () => void): Cancel {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Resolves after `ms` milliseconds, at a recovery or as soon as `signal` aborts; never rejects.
   */
  readonly pause = async (
    ms: number,
    { clock, signal }: { readonly clock: Pick<Clock, "wakeAfter">; readonly signal: AbortSignal },
  ): Promise<void> => {
    const recovered = new AbortController();
    const cancel = this.onRecovered(() => recovered.abort());
    try {
      await sleep(ms, { clock, signal: AbortSignal.any([signal, recovered.signal]) });
    } finally {
      cancel();
    }
  };

  /** Records the first success after failures. */
  recovered(): void {
    this.#count += 1;
    for (const listener of [...this.#listeners]) listener();
  }
}
