import type { Clock } from "../../runtime/clock.ts";
import { Fifo } from "../../runtime/fifo.ts";

/** Options of an {@link AdaptiveLimiter} for results of type `T`. */
interface AdaptiveLimiterOptions<T> {
  /** Maximum number of concurrent calls. */
  readonly limit: number;
  readonly clock: Clock;
  /** Retry-after of a result, in milliseconds; undefined for a success. */
  readonly retryAfter: (result: T) => number | undefined;
  /** Called with the limit when it changes. */
  readonly onLimit?: (limit: number) => void;
}

/**
 * Runs at most `limit` calls concurrently, in FIFO order, and adapts the limit to results with a
 * Retry-After (additive increase, multiplicative decrease as in RFC 5681): such a result halves it,
 * and as many successes as it permits calls raise it by one. At a limit of 1, such a result pauses
 * all calls for its Retry-After.
 */
export class AdaptiveLimiter<T> {
  readonly #options: AdaptiveLimiterOptions<T>;
  readonly #waiting = new Fifo<() => void>();
  #limit: number;
  #running = 0;
  /**
   * Number of decreases: a call that started before the last decrease does not decrease the limit
   * again.
   */
  #decreases = 0;
  #isPaused = false;

  constructor(options: AdaptiveLimiterOptions<T>) {
    this.#options = options;
    this.#limit = options.limit;
  }

  /** Runs `work` as soon as the limit permits. */
  async run(work: () => Promise<T>): Promise<T> {
    await this.#enter();
    const cuts = this.#decreases;
    try {
      const result = await work();
      const waitMs = this.#options.retryAfter(result);
      if (waitMs === undefined) this.#setLimit(this.#limit + 1 / this.#limit);
      else if (cuts === this.#decreases) this.#decrease(waitMs);
      return result;
    } finally {
      this.#running -= 1;
      this.#admit();
    }
  }

  async #enter(): Promise<void> {
    if (!this.#hasCapacity()) return new Promise((enter) => this.#waiting.push(enter));
    this.#running += 1;
  }

  #hasCapacity(): boolean {
    return !this.#isPaused && this.#running < Math.floor(this.#limit);
  }

  #admit(): void {
    while (this.#hasCapacity() && this.#waiting.size > 0) {
      this.#running += 1;
      this.#waiting.shift()?.();
    }
  }

  #decrease(waitMs: number): void {
    this.#decreases += 1;
    if (this.#limit < 2) this.#pause(waitMs);
    this.#setLimit(this.#limit / 2);
  }

  #pause(ms: number): void {
    this.#isPaused = true;
    this.#options.clock.wakeAfter(ms, () => {
      this.#isPaused = false;
      this.#admit();
    });
  }

  #setLimit(room: number): void {
    const before = Math.floor(this.#limit);
    this.#limit = Math.min(this.#options.limit, Math.max(1, room));
    if (Math.floor(this.#limit) !== before) this.#options.onLimit?.(Math.floor(this.#limit));
  }
}
