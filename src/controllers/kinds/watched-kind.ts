import type { Result } from "../../api/result.ts";
import type { Condition } from "../../api/conditions.ts";
import type { Key } from "../../api/object.ts";
import type { Resource } from "../../api/resources.ts";
import type { ListOptions } from "../../kube/list-request.ts";
import type { Change, Codec, Indexer } from "../../kube/store.ts";
import type { DataDigest } from "../../tokens/data-digest.ts";
import type { Enqueuer } from "../enqueuer.ts";
import type { Queues } from "../queues.ts";
import type { ReconcileDeps } from "../reconcile-deps.ts";
import type { Stores } from "../stores.ts";

/** What a kind is read with. */
export interface KindContext {
  /** Latchkey's own namespace. */
  readonly namespace: string;
  /** Whether namespaces without `sync-from` accept no copies. */
  readonly requireSyncFrom: boolean;
  readonly digestOf: DataDigest;
  /** Complete once every informer exists: `parse` may read them, a descriptor may not. */
  readonly stores: () => Stores;
}

/**
 * One watched kind: how its objects are read and found, and what a change of one enqueues. The
 * informer, its store, the event handlers, the first round of a leader and the reconcile loop
 * follow from it.
 */
export interface WatchedKind<T> {
  readonly listOptions: ListOptions;
  /**
   * Turns what the API server sent into what the store keeps; undefined: not kept. Throws on what
   * cannot be read.
   */
  readonly parse: (raw: unknown) => T | undefined;
  readonly indexers?: Readonly<Record<string, Indexer<T>>>;
  readonly codec?: Codec<T>;
  /** Listed after these, because `parse` reads their stores. */
  readonly listedAfter?: readonly Resource[];
  /** Latchkey writes no object of the kind. */
  readonly isReadOnly?: boolean;
  /** Enqueues what a change concerns. */
  readonly enqueue: (change: Change<T>, enqueuer: Enqueuer) => void;
  /** Enqueues what all objects of the kind ask for: what a new leader does first. */
  readonly enqueueAll?: (enqueuer: Enqueuer) => Promise<void>;
  /** What metrics count of an object. */
  readonly countedAs?: (object: T) => CountedObject;
  readonly reconciler?: Reconciler;
}

/** What metrics count: objects by their conditions, and the targets in a status. */
export interface CountedObject {
  readonly conditions: readonly Condition[];
  readonly status: Readonly<Record<string, unknown>>;
}

/** What reconciles the keys of a queue. */
export interface Reconciler {
  /** Names the controller in logs and metrics. */
  readonly controller: string;
  readonly queue: keyof Queues;
  /** How many keys are reconciled at a time. */
  readonly workers: (options: { readonly workers: number; readonly writers: number }) => number;
  readonly reconcile: (key: Key, deps: ReconcileDeps) => Promise<Result>;
}

/** An index of at most one value. */
export function indexedBy(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}
