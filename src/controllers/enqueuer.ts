import { type Key, keyOf, type ObjectRef } from "../api/object.ts";
import type { Source } from "../domain/sync/copy.ts";
import { candidatesFor, ownerOf, secretAt } from "../domain/sync/observed-target.ts";
import { newSourcePace, sourceChanged } from "../domain/sync/source-pace.ts";
import { syncIndexes } from "../domain/sync/sync-objects.ts";
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

  /**
   * Enqueues the status of a SharedSecret, after a delay that batches changes; one that is being
   * deleted waits for the last of its copies only.
   */
  status({ secret: { metadata } }: Source): void {
    const isProgress = this.queues.copy.depth > 0;
    const isLeaving = metadata.deletionTimestamp !== undefined && !isProgress;
    const delayMs = isProgress ? statusDelayMs.progress : isLeaving ? 0 : statusDelayMs.final;
    this.queues.sharedSecret.addAt(keyOf(metadata), this.clock.now() + delayMs);
  }

  /** Enqueues a Secret that has changed, if SharedSecrets follow it. */
  sourceSecret(key: Key): void {
    if (this.stores.sharedSecrets.countBy(syncIndexes.dataFrom, key) === 0) return;
    const { sourcePaces } = this.memory;
    const pace = sourcePaces.get(key) ?? newSourcePace;
    sourcePaces.set(key, sourceChanged(pace, this.clock.monotonic()));
    this.queues.source.add(key, "high");
  }

  /** Enqueues the status of the SharedSecrets that sync to this target, or have data there. */
  statusAt(target: ObjectRef): void {
    const owner = ownerOf(secretAt(keyOf(target), this.stores), this.stores);
    const sources = [
      ...candidatesFor(target, this.stores),
      ...(owner === undefined ? [] : [owner]),
    ];
    for (const source of new Set(sources)) this.status(source);
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
