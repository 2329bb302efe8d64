import type { Condition } from "../../api/conditions.ts";
import type { ObjectRef } from "../../api/object.ts";
import type { Resource } from "../../api/resources.ts";
import type { NamespaceOptions } from "../../domain/sync/obstacles.ts";
import type { ListOptions } from "../../kube/informer/list-options.ts";
import type { InformerDeps } from "../../kube/informer/informer-options.ts";
import type { Change, Codec, Indexer, ReadStore } from "../../kube/informer/store.ts";
import type { LogFields } from "../../runtime/log.ts";
import type { DataDigest } from "../../tokens/data-digest.ts";
import type { Reconciler } from "../reconciler.ts";
import type { SyncStores } from "../sync-state.ts";
import type { SyncWorld } from "../sync-world.ts";

/** The context of the descriptors of kinds. */
export interface KindContext<Stores extends SyncStores = SyncStores> extends NamespaceOptions {
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
 * reconcile loop are built from it. `W` is the world in which its changes are decided.
 */
export interface WatchedKind<T, W extends SyncWorld = SyncWorld> {
  readonly listOptions: ListOptions;
  /**
   * Parses an object from the API server into its stored form; undefined if it is not stored.
   * Throws if the object is invalid.
   *
   * @example
   *   parse: (raw) => ({ metadata: parseMetadata(raw), keys: stringsAt(raw, "keys") });
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
  /** Whether an API server that does not serve the kind counts as one without such objects. */
  readonly mayBeUnserved?: boolean;
  /**
   * Of Secrets: whether one at this place may be of the kind, so that it is read into its store
   * although it is no copy.
   */
  readonly mayBeAt?: (ref: ObjectRef) => boolean;
  /** The lists of every replica that are made of objects of the kind. */
  readonly publishedIn?: readonly PublishedListName[];
  /** Enqueues the keys that a change affects. */
  readonly enqueue: (change: Change<T>, enqueuer: W["enqueuer"]) => void;
  /** Enqueues the keys that all objects of the kind affect, for a new leader. */
  readonly enqueueAll?: (enqueuer: W["enqueuer"]) => Promise<void>;
  /** Returns what metrics count of an object. */
  readonly countedAs?: (object: T) => CountedObject;
  /** What a change means to users, for the log of a leader: each line once. */
  readonly says?: (change: Change<T>) => readonly Said[];
  readonly reconciler?: Reconciler<W>;
}

/** A line of the log. */
export interface Said {
  readonly fields: LogFields;
  readonly message: string;
}

/**
 * A line that says which names a list has gained or lost, such as projects; none if it is the same.
 */
export function gainedOrLost(
  message: string,
  fields: LogFields,
  [before = [], after = []]: readonly (readonly string[] | undefined)[],
): readonly Said[] {
  const gained = after.filter((name) => !before.includes(name));
  const lost = before.filter((name) => !after.includes(name));
  const isSame = gained.length + lost.length === 0;
  return isSame ? [] : [{ message, fields: { ...fields, gained, lost } }];
}

/**
 * Watches a kind and returns its store; with `from`, in another API server, which may be away for
 * days: unlike for an optional kind, no leader waits, and the caller says that it is not heard.
 */
export type Watch<W extends SyncWorld = SyncWorld> = <T>(
  kind: WatchedKind<T, W>,
  from?: InformerDeps,
) => ReadStore<T>;

/** What a process that reconciles watches. */
export interface Watched<W extends SyncWorld = SyncWorld> {
  /** Watches all kinds and returns their stores. */
  readonly kinds: (context: KindContext<W["stores"]>, watch: Watch<W>) => W["stores"];
  /** Reconcilers of keys that belong to no watched kind. */
  readonly reconcilers: readonly Reconciler<W>[];
}

/** What metrics count: objects by their conditions, and the targets and the expiry in a status. */
export interface CountedObject {
  readonly metadata: ObjectRef;
  readonly conditions: readonly Condition[];
  readonly status: Readonly<Record<string, unknown>>;
}
