import type { Key } from "../../api/object.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Fifo } from "../../runtime/fifo.ts";
import type { QueueMetrics } from "../../runtime/work-metrics.ts";
import { DelayQueue } from "./delay-queue.ts";
import * as core from "./queue-state.ts";
import type { Item, Priority } from "./queue-state.ts";

/** How urgent a key of a {@link WorkQueue} is. */
export type { Priority } from "./queue-state.ts";

/**
 * Dependencies of a {@link WorkQueue}; `random` returns numbers in [0, 1) for the jitter of
 * retries.
 */
interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics?: QueueMetrics;
  /** The priority of a key whose time has come; high by default. */
  readonly urgencyAtTime?: ((key: Key) => Priority) | undefined;
}

/**
 * A work queue as in client-go: a key is queued once; while it is processed, no other worker gets
 * it, and a key that is added meanwhile is queued again afterwards. The rules are those of
 * `queue-state.ts`; here are the order of the keys, waiting workers, timers and metrics.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #metrics: QueueMetrics | undefined;
  readonly #state = core.emptyQueue();
  readonly #lanes: Readonly<Record<Priority, Fifo<Item>>> = {
    high: new Fifo(),
    normal: new Fifo(),
    low: new Fifo(),
    last: new Fifo(),
  };
  readonly #waiters = new Fifo<(key: Key | undefined) => void>();
  readonly #instants: DelayQueue;
  readonly #retries: DelayQueue;
  #closed = false;

  constructor({ clock, random, metrics, urgencyAtTime = () => "high" }: WorkQueueOptions) {
    this.#clock = clock;
    this.#random = random;
    this.#metrics = metrics;
    metrics?.inProgress(() =>
      [...this.#state.working.values()].map(({ since }) => this.#secondsSince(since)),
    );
    const delays = (times: "instants" | "retries", now: () => number): DelayQueue =>
      new DelayQueue(this.#state[times], {
        now,
        wakeAfter: clock.wakeAfter.bind(clock),
        wake: (key) => {
          const item = { key, urgency: urgencyAtTime(key) };
          this.#enqueue(core.wakeKey(this.#state, times, item, clock.monotonic()));
        },
      });
    this.#instants = delays("instants", () => clock.now());
    this.#retries = delays("retries", () => clock.monotonic());
  }

  /** Number of keys that wait for a worker. */
  get depth(): number {
    return this.#state.waiting.size;
  }

  /** Adds `key`; a waiting key moves up if the new priority is higher. */
  add(key: Key, urgency: Priority): void {
    if (this.#closed) return;
    this.#enqueue(core.addKey(this.#state, key, urgency, this.#clock.monotonic()));
  }

  /**
   * Adds `key`, by default with high priority, at `at`, in milliseconds since the epoch, not
   * earlier; only the earliest time applies, and it is discarded when the key is processed.
   */
  addAt(key: Key, at: number): void {
    if (this.#closed) return;
    if (core.addKeyAt(this.#state, key, at)) this.#instants.schedule(key);
  }

  /** Adds `key` again after its back-off, and after at least `atLeastMs`. */
  addAfterFailure(key: Key, atLeastMs = 0): void {
    if (this.#closed) return;
    const wait = { monotonic: this.#clock.monotonic(), random: this.#random(), atLeastMs };
    if (core.addKeyAfterFailure(this.#state, key, wait)) this.#retries.schedule(key);
    this.#metrics?.retried();
  }

  /**
   * Adds every key that waits after a failure and resets its back-off: the cause of the failures is
   * gone.
   */
  retryNow(): void {
    for (const key of [...this.#state.retries.keys()])
      this.#enqueue(core.recoverKey(this.#state, key, this.#clock.monotonic()));
    this.#retries.arm();
  }

  /** Retries a failed `key` now, because the cause may be gone, and soon again if it fails. */
  retry(key: Key): void {
    if (this.#closed) return;
    this.#enqueue(core.retryKey(this.#state, key, this.#clock.monotonic()));
  }

  /** Resets the back-off of `key` after a success: its next failure waits 5 ms. */
  forget(key: Key): void {
    core.forgetKey(this.#state, key);
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
    const began = this.#state.working.get(key)?.since;
    if (began === undefined) return;
    const now = this.#clock.monotonic();
    this.#metrics?.done((now - began) / 1000);
    this.#enqueue(core.doneKey(this.#state, key, now));
  }

  /** Stops the queue; remaining keys are dropped, because the next leader enqueues all keys. */
  close(): void {
    this.#closed = true;
    core.dropKeys(this.#state);
    this.#instants.arm();
    this.#retries.arm();
    for (const urgency of core.priorities) this.#lanes[urgency].drain();
    for (const resolve of this.#waiters.drain()) resolve(undefined);
  }

  #enqueue(item: Item | undefined): void {
    if (item === undefined) return;
    this.#lanes[item.urgency].push(item);
    this.#metrics?.added(this.depth);
    const key = this.#waiters.size === 0 ? undefined : this.#next();
    if (key !== undefined) this.#waiters.shift()?.(key);
  }

  #next(): Key | undefined {
    for (const urgency of core.priorities) {
      const lane = this.#lanes[urgency];
      for (let item = lane.shift(); item !== undefined; item = lane.shift()) {
        if (this.#state.waiting.get(item.key) === item) return this.#startWork(item);
      }
    }
    return undefined;
  }

  #startWork({ key, since }: Item): Key {
    core.takeKey(this.#state, key, this.#clock.monotonic());
    this.#instants.arm();
    this.#metrics?.taken(this.depth, this.#secondsSince(since));
    return key;
  }

  #secondsSince(monotonic: number): number {
    return (this.#clock.monotonic() - monotonic) / 1000;
  }
}
