import type { Key } from "../../../src/api/object.ts";
import type { Priority } from "../../../src/kube/queue/work-queue.ts";

function rank(urgency: Priority | undefined): number {
  return urgency === undefined ? 4 : { high: 0, normal: 1, low: 2, last: 3 }[urgency];
}

/** A simple model of the queue: linear searches, and explicit time. */
export class QueueModel {
  now = 0;
  waiting: { key: Key; urgency: Priority }[] = [];
  readonly working = new Map<Key, Priority | undefined>();
  readonly instants = new Map<Key, number>();
  readonly retries = new Map<Key, number>();
  readonly failures = new Map<Key, number>();

  add(key: Key, urgency: Priority): void {
    if (this.working.has(key)) {
      if (rank(urgency) < rank(this.working.get(key))) this.working.set(key, urgency);
      return;
    }
    const standing = this.waiting.find((entry) => entry.key === key);
    if (standing !== undefined && rank(standing.urgency) <= rank(urgency)) return;
    this.waiting = [...this.waiting.filter((entry) => entry.key !== key), { key, urgency }];
  }

  addAt(key: Key, at: number): void {
    this.instants.set(key, Math.min(at, this.instants.get(key) ?? Infinity));
  }

  /** Minimum wait after the next failure of `key`. */
  backoff(key: Key): number {
    return Math.min(5 * 2 ** (this.failures.get(key) ?? 0), 1_000_000);
  }

  fail(key: Key, waitMs: number): void {
    this.failures.set(key, (this.failures.get(key) ?? 0) + 1);
    this.retries.set(key, Math.min(this.now + waitMs, this.retries.get(key) ?? Infinity));
  }

  take(): Key | undefined {
    const first = this.waiting.toSorted((one, other) => rank(one.urgency) - rank(other.urgency))[0];
    if (first === undefined) return undefined;
    this.waiting = this.waiting.filter((entry) => entry !== first);
    this.working.set(first.key, undefined);
    this.instants.delete(first.key);
    return first.key;
  }

  done(key: Key): void {
    const urgency = this.working.get(key);
    this.working.delete(key);
    if (urgency !== undefined) this.add(key, urgency);
  }

  advance(ms: number): void {
    this.now += ms;
    const due = [this.instants, this.retries].flatMap((map) =>
      [...map].map(([key, at]) => ({ map, key, at })),
    );
    for (const { map, key } of due.filter(({ at }) => at <= this.now).sort((a, b) => a.at - b.at)) {
      map.delete(key);
      this.add(key, "high");
    }
  }

  /**
   * The first time from `at` on at which no other key wakes: the order of keys with the same time
   * is undefined.
   */
  freeInstant(at: number): number {
    const taken = new Set([...this.instants.values(), ...this.retries.values()]);
    let free = at;
    while (taken.has(free)) free++;
    return free;
  }
}
