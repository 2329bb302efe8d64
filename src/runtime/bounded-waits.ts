import { ItemsByOwner } from "./items-by-owner.ts";

interface Wait {
  readonly owner: string;
  readonly onLetGo: () => void;
}

/**
 * A limited number of waits. A new wait always begins: above the limit, the oldest wait of the
 * owner that has the most is let go, so that one owner cannot take the waits of the others.
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

  /** Begins a wait; `onLetGo` is called when it is let go. Returns a function that ends it. */
  begin(owner: string, onLetGo: () => void): () => void {
    const wait = { owner, onLetGo };
    this.#waits.add(owner, wait);
    if (this.#waits.size > this.#most) this.#letOneGo();
    return () => void this.#waits.remove(owner, wait);
  }

  #letOneGo(): void {
    const [oldest] = this.#waits.ofLargestOwner();
    if (oldest === undefined) return;
    this.#waits.remove(oldest.owner, oldest);
    oldest.onLetGo();
  }
}
