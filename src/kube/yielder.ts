import { setImmediate } from "node:timers/promises";
import type { Clock } from "../runtime/clock.ts";

/** Maximum time of all work together before it yields to timers and sockets, in milliseconds. */
const turnMs = 10;

/**
 * Divides the event loop between work that never waits for anything and everything else. All work
 * of a process shares one: sixteen workers with a turn of 10 ms each would come one right after the
 * other.
 */
export class Yielder {
  readonly #clock: Pick<Clock, "monotonic">;
  #began: number;
  #over: Promise<void> | undefined;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
    this.#began = clock.monotonic();
  }

  /**
   * To be awaited between two pieces of work: waits for the others when this turn has taken too
   * long.
   */
  async yieldIfDue(): Promise<void> {
    if (!this.#isDue()) return;
    this.#over ??= this.#giveWay();
    await this.#over;
  }

  /**
   * Does a piece of work in a turn that has not taken too long: of many that wait, only as many
   * come in one turn as fit into it.
   */
  async run<T>(work: () => T): Promise<T> {
    while (this.#isDue()) await this.yieldIfDue();
    return work();
  }

  /** Processes one item after the other. The items may change meanwhile. */
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
