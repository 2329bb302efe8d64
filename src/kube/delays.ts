import type { Key } from "../api/object.ts";
import type { Cancel, Clock } from "../runtime/clock.ts";

interface Wait {
  readonly key: Key;
  readonly at: number;
}

/** How {@link Delays} tells the time and whom it wakes. */
export interface DelaysOptions {
  /** The time line of all instants, in milliseconds. */
  readonly now: () => number;
  readonly wakeAfter: Clock["wakeAfter"];
  readonly wake: (key: Key) => void;
}

/** A wall clock that is set forward is noticed after this long. */
const longestNapMs = 60_000;

/** Keys that wait for an instant, in a binary heap; a key waits once, for the earliest instant it was given. */
export class Delays {
  readonly #options: DelaysOptions;
  readonly #instants = new Map<Key, number>();
  readonly #heap: Wait[] = [];
  #timer: { readonly at: number; readonly cancel: Cancel } | undefined;

  constructor(options: DelaysOptions) {
    this.#options = options;
  }

  /** How many keys wait. */
  get size(): number {
    return this.#instants.size;
  }

  /** Wakes `key` at `at`, never earlier, unless it waits for an earlier instant already. */
  set(key: Key, at: number): void {
    const standing = this.#instants.get(key);
    if (standing !== undefined && standing <= at) return;
    this.#instants.set(key, at);
    this.#push({ key, at });
    this.#arm();
  }

  /** Forgets all keys. */
  clear(): void {
    this.#instants.clear();
    this.#heap.length = 0;
    this.#arm();
  }

  #arm(): void {
    const at = this.#heap[0]?.at;
    if (this.#timer?.at === at) return;
    this.#timer?.cancel();
    this.#timer = at === undefined ? undefined : { at, cancel: this.#nap(at) };
  }

  #nap(at: number): Cancel {
    const ms = Math.min(Math.max(0, Math.ceil(at - this.#options.now())), longestNapMs);
    return this.#options.wakeAfter(ms, () => {
      this.#timer = undefined;
      this.#wakeDue();
      this.#arm();
    });
  }

  #wakeDue(): void {
    const now = this.#options.now();
    for (let first = this.#heap[0]; first !== undefined && first.at <= now; first = this.#heap[0]) {
      this.#pop();
      // An entry that an earlier one of the same key replaced is still in the heap.
      if (this.#instants.get(first.key) !== first.at) continue;
      this.#instants.delete(first.key);
      this.#options.wake(first.key);
    }
  }

  #push(wait: Wait): void {
    let child = this.#heap.push(wait) - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (this.#at(parent) <= wait.at) break;
      this.#swap(child, parent);
      child = parent;
    }
  }

  #pop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    let parent = 0;
    for (;;) {
      const left = 2 * parent + 1;
      const smaller = this.#at(left + 1) < this.#at(left) ? left + 1 : left;
      if (this.#at(smaller) >= last.at) return;
      this.#swap(parent, smaller);
      parent = smaller;
    }
  }

  #at(index: number): number {
    return this.#heap[index]?.at ?? Infinity;
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#heap[a], this.#heap[b]];
    if (first === undefined || second === undefined) return;
    this.#heap[a] = second;
    this.#heap[b] = first;
  }
}
