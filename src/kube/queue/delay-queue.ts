import type { Key } from "../../api/object.ts";
import type { Cancel, Clock } from "../../runtime/clock.ts";

/** The clock and the callback of a {@link DelayQueue}. */
interface DelayQueueOptions {
  /** The clock of all times in the queue, in milliseconds. */
  readonly now: () => number;
  readonly wakeAfter: Clock["wakeAfter"];
  /** Removes the time of `key`, which has come. */
  readonly wake: (key: Key) => void;
}

/** Maximum duration of a timer; a wall clock that is set forward is noticed within this time. */
const longestNapMs = 60_000;

/**
 * Wakes keys at the times of a map, which its owner changes. A binary heap orders them; an entry
 * whose time is not that of the map is stale, and at most half of the entries are.
 */
export class DelayQueue {
  readonly #times: ReadonlyMap<Key, number>;
  readonly #options: DelayQueueOptions;
  /** Of each entry of the heap, in two arrays because these take the least memory. */
  readonly #keys: Key[] = [];
  readonly #instants: number[] = [];
  #timer: { readonly at: number; readonly cancel: Cancel } | undefined;

  constructor(times: ReadonlyMap<Key, number>, options: DelayQueueOptions) {
    this.#times = times;
    this.#options = options;
  }

  /** Wakes `key` at its time in the map, not earlier. Call this after the time was set. */
  schedule(key: Key): void {
    const at = this.#times.get(key);
    if (at === undefined) return;
    this.#instants.push(at);
    this.#up(this.#keys.push(key) - 1);
    this.arm();
  }

  /** Sets the timer for the earliest time. Call this after times were removed. */
  arm(): void {
    if (this.#keys.length > 2 * this.#times.size) this.#rebuild();
    while (this.#isStale()) this.#shift();
    const at = this.#instants[0];
    if (this.#timer?.at === at) return;
    this.#timer?.cancel();
    this.#timer = at === undefined ? undefined : { at, cancel: this.#nap(at) };
  }

  #nap(at: number): Cancel {
    const ms = Math.min(Math.max(0, Math.ceil(at - this.#options.now())), longestNapMs);
    return this.#options.wakeAfter(ms, () => {
      this.#timer = undefined;
      this.#wakeDue();
      this.arm();
    });
  }

  #wakeDue(): void {
    const now = this.#options.now();
    while (this.#at(0) <= now) {
      const key = this.#shift();
      if (key !== undefined) this.#options.wake(key);
    }
  }

  /** Fills the same arrays again: a copied array would hold its numbers as objects. */
  #rebuild(): void {
    this.#keys.length = 0;
    this.#instants.length = 0;
    for (const [key, at] of this.#times) {
      this.#keys.push(key);
      this.#instants.push(at);
    }
    for (let place = this.#keys.length >> 1; place >= 0; place--) this.#down(place);
  }

  #isStale(): boolean {
    const first = this.#keys[0];
    return first !== undefined && this.#times.get(first) !== this.#instants[0];
  }

  /** Removes the first entry, and returns its key unless it is stale. */
  #shift(): Key | undefined {
    const key = this.#isStale() ? undefined : this.#keys[0];
    this.#swap(0, this.#keys.length - 1);
    this.#keys.pop();
    this.#instants.pop();
    this.#down(0);
    return key;
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
    return this.#instants[place] ?? Infinity;
  }

  #swap(one: number, other: number): void {
    const [first, second] = [this.#keys[one], this.#keys[other]];
    if (first === undefined || second === undefined) return;
    [this.#keys[one], this.#keys[other]] = [second, first];
    [this.#instants[one], this.#instants[other]] = [this.#at(other), this.#at(one)];
  }
}
