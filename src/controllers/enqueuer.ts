import { keyOf, type ObjectRef } from "../api/object.ts";
import type { Source } from "../domain/sync/copy.ts";
import { candidatesFor } from "../domain/sync/observed-target.ts";
import type { Priority } from "../kube/queue/work-queue.ts";
import type { Yielder } from "../runtime/yielder.ts";
import type { Queues } from "./queues.ts";
import type { SyncState } from "./sync-state.ts";

/**
 * Delay in milliseconds between a change of a copy and the status of its SharedSecret, so that a
 * fan-out does not count its copies a thousand times; `progress` while copies are queued, because
 * the count is not final yet.
 */
const statusDelayMs = { final: 100, progress: 1_000 } as const;

/**
 * Adds keys to the queues of a leader: the operations that several watched kinds share. The
 * descriptor of each kind defines which changes enqueue what.
 */
export class Enqueuer<State extends SyncState = SyncState> implements SyncState {
  readonly queues: Queues;
  readonly stores: State["stores"];
  readonly memory: State["memory"];
  readonly clock: SyncState["clock"];
  readonly yielder: Yielder;

  constructor({ queues, stores, memory, clock }: State, yielder: Yielder) {
    this.queues = queues;
    this.stores = stores;
    this.memory = memory;
    this.clock = clock;
    this.yielder = yielder;
  }

  /** Enqueues the copy at a target. */
  target(target: ObjectRef, priority: Priority): void {
    this.queues.copy.add(keyOf(target), priority);
  }

  /** Enqueues the status of a SharedSecret, after a delay that batches changes. */
  status({ secret }: Source): void {
    const delayMs = this.queues.copy.depth > 0 ? statusDelayMs.progress : statusDelayMs.final;
    this.queues.sharedSecret.addAt(keyOf(secret.metadata), this.clock.now() + delayMs);
  }

  /** Enqueues the status of every SharedSecret that syncs to this target. */
  statusAt(target: ObjectRef): void {
    for (const source of candidatesFor(target, this.stores)) this.status(source);
  }
}

/** Returns the values of `of` before and after a change, each once. */
export function valuesOf<T>(
  { before, after }: { readonly before: T | undefined; readonly after: T | undefined },
  of: (state: T) => string | undefined,
): ReadonlySet<string> {
  const values = [before, after].map((state) => (state === undefined ? undefined : of(state)));
  return new Set(values.filter((value) => value !== undefined));
}
