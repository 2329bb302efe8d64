import type { Cancel, Clock } from "../../src/runtime/clock.ts";

interface Wake {
  readonly due: number;
  readonly wake: () => void;
}

/**
 * A clock that only a test moves. Wake-ups happen in the order of their times (then of their
 * registration), each at exactly its own time, so that code under test sees the time it asked for.
 */
export class TestClock implements Clock {
  readonly #wakes = new Set<Wake>();
  #wallMinusMonotonic: number;
  #monotonic = 0;

  /** Starts at `now`, in milliseconds since the epoch: 2026-01-01T00:00:00Z by default. */
  constructor(now: number = Date.UTC(2026, 0, 1)) {
    this.#wallMinusMonotonic = now;
  }

  now(): number {
    return this.#monotonic + this.#wallMinusMonotonic;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  wakeAfter(ms: number, wake: () => void): Cancel {
    const entry = { due: this.#monotonic + Math.max(0, ms), wake };
    this.#wakes.add(entry);
    return () => void this.#wakes.delete(entry);
  }

  /** The number of pending wake-ups. */
  get pending(): number {
    return this.#wakes.size;
  }

  /** Milliseconds until the next wake-up; undefined without one. */
  get untilNext(): number | undefined {
    const next = this.#next(Infinity);
    return next === undefined ? undefined : next.due - this.#monotonic;
  }

  /**
   * Advances the time by `ms` and fires the wake-ups that are due; promises that this settles are
   * handled only after the next await.
   */
  advance(ms: number): void {
    const end = this.#monotonic + ms;
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) this.#fire(next);
    this.#monotonic = end;
  }

  /**
   * Like {@link advance}, but lets promises settle before the first and after every wake-up, for
   * asynchronous code.
   */
  async run(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await settled();
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#fire(next);
      await settled();
    }
    this.#monotonic = end;
  }

  /** Changes the wall clock by `ms`, as an administrator or NTP does; wake-ups are not affected. */
  stepWallClock(ms: number): void {
    this.#wallMinusMonotonic += ms;
  }

  #fire(entry: Wake): void {
    this.#wakes.delete(entry);
    this.#monotonic = Math.max(this.#monotonic, entry.due);
    entry.wake();
  }

  #next(end: number): Wake | undefined {
    let next: Wake | undefined;
    for (const entry of this.#wakes) {
      if (entry.due <= end && (next === undefined || entry.due < next.due)) next = entry;
    }
    return next;
  }
}

/** Resolves when every promise that can settle without time or input has settled. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}
