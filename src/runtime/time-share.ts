import { type Clock, sleep } from "./clock.ts";

/** How much time the work for one other party may take. */
interface TimeShareLimits {
  /** Share of the time, between 0 and 1. */
  readonly share: number;
  /** Milliseconds of work that a party without work saves up at most. */
  readonly savedMs: number;
}

const lastingMs = 30_000;
const forgottenMs = 60_000;

/**
 * Limits the time that this process works on what one other party sends: work adds to a debt, which
 * is paid off at the rate of the share. Only the time of synchronous work counts, not what
 * others do meanwhile.
 */
export class TimeShare {
  readonly #limits: TimeShareLimits;
  readonly #clock: Clock;
  /** Milliseconds of work beyond what was saved up; at least the negative of `savedMs`. */
  #debtMs: number;
  #countedAt: number;
  /** From when to when it paused work, again and again within a minute. */
  #paused = { from: -Infinity, until: -Infinity };

  constructor(limits: TimeShareLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#debtMs = -limits.savedMs;
    this.#countedAt = clock.monotonic();
  }

  /**
   * Whether it has paused work again and again for half a minute, in the last minute. The first
   * list of a large party alone does not count.
   */
  get isExceeded(): boolean {
    const { from, until } = this.#paused;
    return until - from >= lastingMs && this.#clock.monotonic() - until < forgottenMs;
  }

  /** Does a piece of work, whose time counts. */
  timed<T>(work: () => T): T {
    const began = this.#clock.monotonic();
    try {
      return work();
    } finally {
      this.spend(this.#clock.monotonic() - began);
    }
  }

  /** Counts work of so many milliseconds. */
  spend(ms: number): void {
    this.#pay();
    this.#debtMs += ms;
  }

  /** Resolves when the work so far is within the share, or the signal aborts. */
  async caughtUp(signal?: AbortSignal): Promise<void> {
    this.#pay();
    const { share } = this.#limits;
    const clock = this.#clock;
    if (this.#debtMs <= 0) return;
    const pauseMs = this.#debtMs / share;
    const now = clock.monotonic();
    const isFirst = now - this.#paused.until >= forgottenMs;
    this.#paused = { from: isFirst ? now : this.#paused.from, until: now + pauseMs };
    await sleep(pauseMs, { clock, ...(signal && { signal }) });
  }

  #pay(): void {
    const { share, savedMs } = this.#limits;
    const now = this.#clock.monotonic();
    const paid = this.#debtMs - (now - this.#countedAt) * share;
    this.#debtMs = Math.max(-savedMs, paid);
    this.#countedAt = now;
  }
}
