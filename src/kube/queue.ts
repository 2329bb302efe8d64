import type { Key } from "../api/object.ts";
import type { Clock } from "../runtime/clock.ts";
import type { QueueMetrics } from "../runtime/work-metrics.ts";
import { DelayQueue } from "./delay-queue.ts";
import { Fifo } from "./fifo.ts";

/** From the highest to the lowest. */
const priorities = ["high", "normal", "low"] as const;

/**
 * High: the object itself changed, or its scheduled time has come. Normal: after another change,
 * something must be created or deleted. Low: existing objects may need an update (first list,
 * resync, fan-out).
 */
export type Priority = (typeof priorities)[number];

/**
 * Dependencies of a {@link WorkQueue}; `random` returns numbers in [0, 1) for the jitter of
 * retries.
 */
export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics?: QueueMetrics;
}

/**
 * First and longest wait after a failure, in milliseconds, before jitter. The first is client-go's.
 * The longest is not client-go's 1,000 s, so that a write is retried within a minute after its
 * cause of failure is gone.
 */
const backoff = { first: 5, longest: 50_000, jitter: 0.2 } as const;

/** Maximum failure count after {@link WorkQueue.retry}: the next failure waits 0.64 s. */
const easedFailures = 7;

interface Item {
  readonly key: Key;
  readonly urgency: Priority;
  /** When the key was first added (monotonic). */
  readonly since: number;
}

/** A key in process. */
interface Work {
  /** When it began (monotonic). */
  readonly since: number;
  /** The priority of an `add` meanwhile. */
  readonly urgency: Priority | undefined;
}

/**
 * A work queue as in client-go: a key is queued once; while it is processed, no other worker gets
 * it, and a key that is added meanwhile is queued again afterwards.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #metrics: QueueMetrics | undefined;
  readonly #lanes: Readonly<Record<Priority, Fifo<Item>>> = {
    high: new Fifo(),
    normal: new Fifo(),
    low: new Fifo(),
  };
  readonly #waiting = new Map<Key, Item>();
  readonly #working = new Map<Key, Work>();
  readonly #waiters = new Fifo<(key: Key | undefined) => void>();
  readonly #failures = new Map<Key, number>();
  readonly #instants: DelayQueue;
  readonly #retries: DelayQueue;
  #closed = false;

  constructor({ clock, random, metrics }: WorkQueueOptions) {
    this.#clock = clock;
    this.#random = random;
    this.#metrics = metrics;
    metrics?.inProgress(() =>
      [...this.#working.values()].map(({ since }) => this.#secondsSince(since)),
    );
    const wakeAfter = clock.wakeAfter.bind(clock);
    const wake = (key: Key): void => this.add(key, "high");
    this.#instants = new DelayQueue({ now: () => clock.now(), wakeAfter, wake });
    this.#retries = new DelayQueue({ now: () => clock.monotonic(), wakeAfter, wake });
  }

  /** Number of keys that wait for a worker. */
  get depth(): number {
    return this.#waiting.size;
  }

  /** Adds `key`; a waiting key moves up if the new priority is higher. */
  add(key: Key, urgency: Priority): void {
    if (this.#closed) return;
    const work = this.#working.get(key);
    if (work !== undefined) {
      this.#working.set(key, { ...work, urgency: moreUrgent(work.urgency, urgency) });
      return;
    }
    const existing = this.#waiting.get(key);
    if (existing === undefined || moreUrgent(existing.urgency, urgency) !== existing.urgency)
      this.#enqueue({ key, urgency, since: existing?.since ?? this.#clock.monotonic() });
  }

  /**
   * Adds `key` with high priority at `at`, in milliseconds since the epoch, not earlier; only the
   * earliest time applies, and it is discarded when the key is processed.
   */
  addAt(key: Key, at: number): void {
    if (!this.#closed) this.#instants.set(key, at);
  }

  /**
   * Adds `key` again after its back-off: 5 ms, doubled with each failure up to 50 s, and at least
   * `atLeastMs`; plus jitter of up to 20%.
   */
  addAfterFailure(key: Key, atLeastMs = 0): void {
    if (this.#closed) return;
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const wait = Math.max(Math.min(backoff.first * 2 ** failures, backoff.longest), atLeastMs);
    this.#retries.set(key, this.#clock.monotonic() + wait * (1 + backoff.jitter * this.#random()));
    this.#metrics?.retried();
  }

  /**
   * Adds every key that waits after a failure and resets its back-off: the cause of the failures is
   * gone.
   */
  retryNow(): void {
    for (const key of this.#retries.drain()) {
      this.forget(key);
      this.add(key, "normal");
    }
  }

  /**
   * Retries a failed `key` now, because the cause may be gone, and again within a second if it
   * fails.
   */
  retry(key: Key): void {
    const failures = this.#failures.get(key) ?? 0;
    if (failures > easedFailures) this.#failures.set(key, easedFailures);
    this.add(key, "high");
  }

  /** Resets the back-off of `key` after a success: its next failure waits 5 ms. */
  forget(key: Key): void {
    this.#failures.delete(key);
  }

  /**
   * Resolves to the next key, or to undefined once the queue is closed. Call `done` for every key.
   */
  get(): Promise<Key | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const key = this.#next();
    if (key !== undefined) return Promise.resolve(key);
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Ends the processing of `key`; adds it again if it was added meanwhile. */
  done(key: Key): void {
    const work = this.#working.get(key);
    if (work === undefined) return;
    this.#working.delete(key);
    this.#metrics?.done(this.#secondsSince(work.since));
    if (work.urgency !== undefined) this.add(key, work.urgency);
  }

  /** Stops the queue; remaining keys are dropped, because the next leader enqueues all keys. */
  close(): void {
    this.#closed = true;
    this.#instants.drain();
    this.#retries.drain();
    this.#waiting.clear();
    for (const urgency of priorities) this.#lanes[urgency].drain();
    for (const resolve of this.#waiters.drain()) resolve(undefined);
  }

  #enqueue(ticket: Item): void {
    this.#waiting.set(ticket.key, ticket);
    this.#lanes[ticket.urgency].push(ticket);
    this.#metrics?.added(this.depth);
    const key = this.#waiters.size === 0 ? undefined : this.#next();
    if (key !== undefined) this.#waiters.shift()?.(key);
  }

  #next(): Key | undefined {
    for (const urgency of priorities) {
      const line = this.#lanes[urgency];
      for (let ticket = line.shift(); ticket !== undefined; ticket = line.shift()) {
        if (this.#waiting.get(ticket.key) === ticket) return this.#startWork(ticket);
      }
    }
    return undefined;
  }

  /** Forgets the scheduled requeue of a key: the reconcile that starts now returns a new one. */
  #startWork({ key, since }: Item): Key {
    this.#waiting.delete(key);
    this.#instants.delete(key);
    this.#working.set(key, { since: this.#clock.monotonic(), urgency: undefined });
    this.#metrics?.taken(this.depth, this.#secondsSince(since));
    return key;
  }

  #secondsSince(monotonic: number): number {
    return (this.#clock.monotonic() - monotonic) / 1000;
  }
}

function moreUrgent(existing: Priority | undefined, added: Priority): Priority {
  return priorities.find((urgency) => urgency === existing || urgency === added) ?? added;
}
