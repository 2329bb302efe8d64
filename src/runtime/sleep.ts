import type { Clock } from "./clock.ts";

/** Options of {@link sleep}; `signal` ends it early. */
interface SleepOptions {
  readonly clock: Pick<Clock, "wakeAfter">;
  readonly signal?: AbortSignal;
}

/** Resolves after `ms` milliseconds or as soon as `signal` aborts; never rejects. */
export function sleep(ms: number, { clock, signal }: SleepOptions): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const cancel = clock.wakeAfter(ms, end);
    signal?.addEventListener("abort", end, { once: true });
    function end(): void {
      cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    }
  });
}

/** Resolves when the signal aborts, or at once if it is aborted already. */
export function aborted(signal: AbortSignal): Promise<void> {
  return signal.aborted
    ? Promise.resolve()
    : new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
