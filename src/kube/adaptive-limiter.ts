import type { Clock } from "../runtime/clock.ts";
import { Fifo } from "./fifo.ts";

/** How a gate behaves towards results of type `T`. */
export interface AdaptiveLimiterOptions<T> {
  /** The most that are ever inside. */
  readonly limit: number;
  readonly clock: Pick<Clock, "wakeAfter">;
  /** Retry-after of a result, in milliseconds; undefined for a success. */
  readonly retryAfter: (result: T) => number | undefined;
  /** Called with the limit when it changes. */
  readonly onLimit?: (limit: number) => void;
}

/**
 * Lets at most `limit` in at a time, in the order they came, and fewer after a result that asks to
 * wait: half as many at once, one more after as many good results as may be inside (additive
 * increase, multiplicative decrease as in RFC 5681). When a single one is still asked to wait,
 * nobody enters until that time is over.
 */
export class AdaptiveLimiter<T> {
  readonly #options: AdaptiveLimiterOptions<T>;
  readonly #waiting = new Fifo<() => void>();
  #limit: number;
  #running = 0;
  /** Results of requests that started before the last reduction are ignored. */
  #decreases = 0;
  #isPaused = false;

  constructor(options: AdaptiveLimiterOptions<T>) {
    this.#options = options;
    this.#limit = options.limit;
  }

  /** Runs `work` once there is room. */
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
