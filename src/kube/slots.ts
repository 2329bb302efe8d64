/**
 * Room for so many pieces of work at a time; what finds none waits in order. Unlike the queue of a
 * connection pool, this one forgets work that is given up.
 */
export class Slots {
  readonly #most: number;
  #used = 0;
  readonly #waiting = new Set<() => void>();

  constructor(most: number) {
    this.#most = most;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Calls `start` when there is room; each start is paid back by one {@link give}. False if it has to
   * wait.
   */
  take(start: () => void): boolean {
    if (this.#used >= this.#most) {
      this.#waiting.add(start);
      return false;
    }
    this.#used += 1;
    start();
    return true;
  }

  /** Gives up waiting; false if `start` was called. */
  forget(start: () => void): boolean {
    return this.#waiting.delete(start);
  }

  /** Ends a piece of work. */
  give(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#used -= 1;
      return;
    }
    this.#waiting.delete(next);
    // Not at once: a thousand of them would end in each other.
    queueMicrotask(next);
  }
}
