/** The clock that the instances of a run in this process share: real time plus all jumps. */
export class RunClock {
  #ahead = 0;

  /** Milliseconds by which it is ahead of real time. */
  get ahead(): number {
    return this.#ahead;
  }

  /** Milliseconds from an arbitrary start. */
  now(): number {
    return performance.now() + this.#ahead;
  }

  advance(ms: number): void {
    this.#ahead += ms;
  }
}
