/** Cancels a timer. */
export type Cancel = () => void;

/** Tells the time and starts nothing, like PassiveClock of k8s.io/utils. */
export interface PassiveClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Monotonic milliseconds, from an arbitrary start. */
  monotonic(): number;
}

/** Wakes after a time. */
export interface Timers {
  /** Calls `wake` once, `ms` from now; supports durations beyond the maximum of setTimeout. */
  wakeAfter(ms: number, wake: () => void): Cancel;
}

/** The only source of time; tests inject their own. */
export interface Clock extends PassiveClock, Timers {}

const longestTimerMs = 2 ** 31 - 1;

/** The system clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  wakeAfter(ms, wake) {
    const due = performance.now() + ms;
    let timer = setTimeout(step, Math.min(ms, longestTimerMs));
    function step(): void {
      const left = due - performance.now();
      if (left <= 0) wake();
      else timer = setTimeout(step, Math.min(Math.ceil(left), longestTimerMs));
    }
    return () => clearTimeout(timer);
  },
};

/** What a wait ends with: an AbortController, or what makes its signal when it is first read. */
export interface Leaving {
  readonly signal: AbortSignal;
}

/** Options of {@link sleep}; `signal` ends it early. */
interface SleepOptions {
  readonly clock: Timers;
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
