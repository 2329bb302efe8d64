import type { Clock } from "../runtime/clock.ts";
import { Fifo } from "./fifo.ts";

/** How a gate behaves towards results of type `T`. */
export interface GateOptions<T> {
  /** The most that are ever inside. */
  readonly limit: number;
  readonly clock: Pick<Clock, "wakeAfter">;
  /** Milliseconds that a result asks everybody to wait; undefined when it says that all is well. */
  readonly asksToWait: (result: T) => number | undefined;
  /** Told how many may be inside now, when that changes. */
  readonly onLimit?: (limit: number) => void;
}

/**
 * Lets at most `limit` in at a time, in the order they came, and fewer after a result that asks to
 * wait: half as many at once, one more after as many good results as may be inside (additive
 * increase, multiplicative decrease as in RFC 5681). When a single one is still asked to wait,
 * nobody enters until that time is over.
 */
export class Gate<T> {
  readonly #options: GateOptions<T>;
  readonly #waiting = new Fifo<() => void>();
  #room: number;
  #inside = 0;
  /** What entered before the last cut says nothing about it. */
  #cuts = 0;
  #isClosed = false;

  constructor(options: GateOptions<T>) {
    this.#options = options;
    this.#room = options.limit;
  }

  /** Runs `work` once there is room. */
  async within(work: () => Promise<T>): Promise<T> {
    await this.#enter();
    const cuts = this.#cuts;
    try {
      const result = await work();
      const waitMs = this.#options.asksToWait(result);
      if (waitMs === undefined) this.#setRoom(this.#room + 1 / this.#room);
      else if (cuts === this.#cuts) this.#cut(waitMs);
      return result;
    } finally {
      this.#inside -= 1;
      this.#admit();
    }
  }

  async #enter(): Promise<void> {
    if (!this.#hasRoom()) return new Promise((enter) => this.#waiting.push(enter));
    this.#inside += 1;
  }

  #hasRoom(): boolean {
    return !this.#isClosed && this.#inside < Math.floor(this.#room);
  }

  #admit(): void {
    while (this.#hasRoom() && this.#waiting.size > 0) {
      this.#inside += 1;
      this.#waiting.shift()?.();
    }
  }

  #cut(waitMs: number): void {
    this.#cuts += 1;
    if (this.#room < 2) this.#close(waitMs);
    this.#setRoom(this.#room / 2);
  }

  #close(ms: number): void {
    this.#isClosed = true;
    this.#options.clock.wakeAfter(ms, () => {
      this.#isClosed = false;
      this.#admit();
    });
  }

  #setRoom(room: number): void {
    const before = Math.floor(this.#room);
    this.#room = Math.min(this.#options.limit, Math.max(1, room));
    if (Math.floor(this.#room) !== before) this.#options.onLimit?.(Math.floor(this.#room));
  }
}
