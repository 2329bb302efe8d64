import type { Condition } from "../../api/conditions.ts";
import type { ObjectRef } from "../../api/object.ts";
import type { Resource } from "../../api/resources.ts";
import type { NamespaceOptions } from "../../domain/sync/obstacles.ts";
import type { ListOptions } from "../../kube/informer/list-options.ts";
import type { InformerDeps } from "../../kube/informer/informer-options.ts";
import type { Change, Codec, Indexer, ReadStore } from "../../kube/informer/store.ts";
import type { DataDigest } from "../../tokens/data-digest.ts";
import type { Enqueuer } from "../enqueuer.ts";
import type { Reconciler } from "../reconciler.ts";
import type { Stores } from "../stores.ts";

/** The context of the descriptors of kinds. */
export interface KindContext extends NamespaceOptions {
  /** Latchkey's own namespace. */
  readonly namespace: string;
  readonly digestOf: DataDigest;
  /** Complete once every informer exists: `parse` may read them, a descriptor may not. */
  readonly stores: () => Stores;
}

/** A list that every replica signs and serves. */
export type PublishedListName = "revoked" | "roles";

/**
 * The descriptor of a watched kind: how its objects are parsed and indexed, and what a change
 * enqueues. The informer, its store, the event handlers, the initial enqueue of a leader and the
 * reconcile loop are built from it.
 */
export interface WatchedKind<T> {
  readonly listOptions: ListOptions;
  /**
   * Parses an object from the API server into its stored form; undefined if it is not stored.
   * Throws if the object is invalid.
   */
  readonly parse: (raw: unknown) => T | undefined;
  readonly indexers?: Readonly<Record<string, Indexer<T>>>;
  readonly codec?: Codec<T>;
  /** The size of an object, which the store sums up by index value. */
  readonly sizeOf?: (value: T) => number;
  /** Kinds that are listed before this one, because `parse` reads their stores. */
  readonly listedAfter?: readonly Resource[];
  /** Whether Latchkey never writes objects of the kind. */
  readonly isReadOnly?: boolean;
  /**
   * Whether a process works without the kind, such as after an upgrade that did not extend its
   * rights: a warning then says so, and a new leader waits for it for some seconds alone.
   */
  readonly isOptional?: boolean;
  /** The lists of every replica that are made of objects of the kind. */
  readonly publishedIn?: readonly PublishedListName[];
  /** Enqueues the keys that a change affects. */
  readonly enqueue: (change: Change<T>, enqueuer: Enqueuer) => void;
  /** Enqueues the keys that all objects of the kind affect, for a new leader. */
  readonly enqueueAll?: (enqueuer: Enqueuer) => Promise<void>;
  /** Returns what metrics count of an object. */
  readonly countedAs?: (object: T) => CountedObject;
  readonly reconciler?: Reconciler;
}

/**
 * Watches a kind and returns its store; with `from`, in another API server, which may be away for
 * days: unlike for an optional kind, no leader waits, and the caller says that it is not heard.
 */
export type Watch = <T>(kind: WatchedKind<T>, from?: InformerDeps) => ReadStore<T>;

/** What metrics count: objects by their conditions, and the targets and the expiry in a status. */
export interface CountedObject {
  readonly metadata: ObjectRef;
  readonly conditions: readonly Condition[];
  readonly status: Readonly<Record<string, unknown>>;
}
