/** Takes a wake-up back. */
export type Cancel = () => void;

/** The only source of time; tests inject their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds that never go back, from an arbitrary start. */
  monotonic(): number;
  /** Calls `wake` once, `ms` from now; longer than a timer can hold is taken in steps. */
  wakeAfter(ms: number, wake: () => void): Cancel;
}

const longestTimerMs = 2 ** 31 - 1;

/** The machine's clock. */
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
