import { Fifo } from "./fifo.ts";

/** Lets at most `limit` holders in at a time, in the order they came. */
export class Gate {
  readonly #waiting = new Fifo<() => void>();
  #free: number;

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Runs `work` once there is room. */
  async within<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((enter) => this.#waiting.push(enter));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
