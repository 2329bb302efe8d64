import type { Key } from "../api/object.ts";
import type { Cancel, Clock } from "../runtime/clock.ts";

interface Wait {
  readonly key: Key;
  readonly at: number;
}

/** The clock and the callback of a {@link DelayQueue}. */
export interface DelayQueueOptions {
  /** The clock of all times in the queue, in milliseconds. */
  readonly now: () => number;
  readonly wakeAfter: Clock["wakeAfter"];
  readonly wake: (key: Key) => void;
}

/** Maximum duration of a timer; a wall clock that is set forward is noticed within this time. */
const longestNapMs = 60_000;

/**
 * Keys with a wake-up time, in a binary heap; a key is queued once, with the earliest time that was
 * set.
 */
export class DelayQueue {
  readonly #options: DelayQueueOptions;
  readonly #heap: Wait[] = [];
  /** Heap index of each key. */
  readonly #places = new Map<Key, number>();
  #timer: { readonly at: number; readonly cancel: Cancel } | undefined;

  constructor(options: DelayQueueOptions) {
    this.#options = options;
  }

  /** Number of waiting keys. */
  get size(): number {
    return this.#heap.length;
  }

  /**
   * Wakes `key` at `at`, not earlier; has no effect if the key already waits for an earlier time.
   */
  set(key: Key, at: number): void {
    const place = this.#places.get(key) ?? this.#heap.length;
    if (this.#at(place) <= at) return;
    this.#put(place, { key, at });
    this.#up(place);
    this.#arm();
  }

  /** Removes `key` without waking it. */
  delete(key: Key): void {
    const place = this.#places.get(key);
    if (place === undefined) return;
    this.#take(place);
    this.#arm();
  }

  /** Removes all keys and returns them. */
  drain(): readonly Key[] {
    const keys = [...this.#places.keys()];
    this.#heap.length = 0;
    this.#places.clear();
    this.#arm();
    return keys;
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
      this.#take(0);
      this.#options.wake(first.key);
    }
  }

  #take(place: number): void {
    const taken = this.#heap[place];
    const last = this.#heap.pop();
    if (taken === undefined || last === undefined) return;
    this.#places.delete(taken.key);
    if (last === taken) return;
    this.#put(place, last);
    this.#up(place);
    this.#down(place);
  }

  #up(from: number): void {
    for (let child = from; child > 0;) {
      const parent = (child - 1) >> 1;
      if (this.#at(parent) <= this.#at(child)) return;
      this.#swap(parent, child);
      child = parent;
    }
  }

  #down(from: number): void {
    for (let parent = from; ;) {
      const left = 2 * parent + 1;
      const smaller = this.#at(left + 1) < this.#at(left) ? left + 1 : left;
      if (this.#at(smaller) >= this.#at(parent)) return;
      this.#swap(parent, smaller);
      parent = smaller;
    }
  }

  /** The time at a heap index; Infinity beyond the end. */
  #at(place: number): number {
    return this.#heap[place]?.at ?? Infinity;
  }

  #swap(one: number, other: number): void {
    const [first, second] = [this.#heap[one], this.#heap[other]];
    if (first === undefined || second === undefined) return;
    this.#put(one, second);
    this.#put(other, first);
  }

  #put(place: number, wait: Wait): void {
    this.#heap[place] = wait;
    this.#places.set(wait.key, place);
  }
}
