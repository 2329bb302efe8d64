import { ItemsByOwner } from "./items-by-owner.ts";

interface Wait {
  readonly owner: string;
  readonly done: AbortController;
}

/**
 * A limited number of waits. A new wait always begins: above the limit, the oldest wait of the owner
 * that has the most is let go, so that one owner cannot take the waits of the others.
 */
export class BoundedWaits {
  readonly #most: number;
  readonly #waits = new ItemsByOwner<Wait>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Number of waits. */
  get size(): number {
    return this.#waits.size;
  }

  /** Waits until the promise of `begin` settles; `done` is aborted when the wait is let go. */
  async wait<T>(owner: string, begin: (done: AbortController) => Promise<T>): Promise<T> {
    const wait = { owner, done: new AbortController() };
    this.#waits.add(owner, wait);
    if (this.#waits.size > this.#most) this.#letOneGo();
    try {
      return await begin(wait.done);
    } finally {
      this.#waits.remove(owner, wait);
    }
  }

  #letOneGo(): void {
    const [oldest] = this.#waits.ofLargestOwner();
    if (oldest === undefined) return;
    this.#waits.remove(oldest.owner, oldest);
    oldest.done.abort();
  }
}
