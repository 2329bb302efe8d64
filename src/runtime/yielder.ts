import { setImmediate } from "node:timers/promises";
import type { PassiveClock } from "./clock.ts";

/** Maximum time of all work together before it yields to timers and sockets, in milliseconds. */
const turnMs = 10;

/**
 * Yields the event loop between pieces of work that do not wait for I/O. A process shares one
 * yielder: sixteen workers with turns of 10 ms each would run one right after the other.
 */
export class Yielder {
  readonly #clock: Pick<PassiveClock, "monotonic">;
  #began: number;
  #over: Promise<void> | undefined;

  constructor(clock: Pick<PassiveClock, "monotonic">) {
    this.#clock = clock;
    this.#began = clock.monotonic();
  }

  /**
   * Waits for timers and sockets if the current turn has taken too long; call it between two pieces
   * of work.
   */
  async yieldIfDue(): Promise<void> {
    if (!this.#isDue()) return;
    this.#over ??= this.#giveWay();
    await this.#over;
  }

  /**
   * Runs a piece of work in a turn that has time left, so that many waiting callers are spread over
   * several turns.
   */
  async run<T>(work: () => T): Promise<T> {
    while (this.#isDue()) await this.yieldIfDue();
    return work();
  }

  /** Processes the items in order, and yields between them. The items may change meanwhile. */
  async forEach<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
    for (const item of items) {
      work(item);
      await this.yieldIfDue();
    }
  }

  #isDue(): boolean {
    return this.#over !== undefined || this.#clock.monotonic() - this.#began >= turnMs;
  }

  async #giveWay(): Promise<void> {
    await setImmediate();
    this.#began = this.#clock.monotonic();
    this.#over = undefined;
  }
}
