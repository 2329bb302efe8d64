import { keyOf, type ObjectRef } from "../api/object.ts";
import { type Resource, resources } from "../api/resources.ts";
import type { NamespaceOptions } from "../domain/sync/obstacles.ts";
import { staleReasons, untilFresh } from "../kube/informer/cache-freshness.ts";
import { type WatchReading, watchReadings } from "../kube/informer/watch-metrics.ts";
import { provingWatchTimes } from "../kube/informer/watch-times.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { InformerDeps } from "../kube/informer/informer-options.ts";
import { rawKey, selects } from "../kube/informer/raw-object.ts";
import type { ReadStore } from "../kube/informer/store.ts";
import { aborted } from "../runtime/clock.ts";
import { createDataDigest, type DataDigest } from "../tokens/data-digest.ts";
import type {
  CountedObject,
  PublishedListName,
  Said,
  Watch,
  Watched,
  WatchedKind,
} from "./kinds/watched-kind.ts";
import { type Published, PublishedKinds } from "./published-kinds.ts";
import { following } from "./followed-sources.ts";
import type { Reconciler } from "./reconciler.ts";
import type { OwnWrites, SyncStores } from "./sync-state.ts";
import type { SyncWorld } from "./sync-world.ts";

/** A change of an object of any watched kind. */
export interface Changed<W extends SyncWorld = SyncWorld> {
  readonly resource: Resource;
  /** Enqueues the keys that the change affects. */
  readonly enqueue: (enqueuer: W["enqueuer"]) => void;
  /** What the change means to users, for the log. */
  readonly says?: () => readonly Said[];
  /** The object as metrics counted it before the change, and count it after. */
  readonly before?: CountedObject;
  readonly after?: CountedObject;
}

/** All informers of a process that reconciles. */
export interface Informers<W extends SyncWorld = SyncWorld> extends OwnWrites {
  readonly stores: W["stores"];
  readonly reconcilers: readonly Reconciler<W>[];
  /** Runs the informers until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Enqueues everything that exists, for a new leader. */
  enqueueAll(enqueuer: W["enqueuer"]): Promise<void>;
  /** Kinds whose cache may be stale, one sentence each. */
  readonly staleReasons: () => readonly string[];
  /** The same of optional kinds. */
  readonly warnings: () => readonly string[];
  readonly watches: () => readonly WatchReading[];
  /** Reads an object from the API server into the stores. */
  readonly refresh: (resource: Resource, ref: ObjectRef) => Promise<void>;
  /**
   * Resolves once every store of the own API server is fresh: one may have been listed long ago.
   */
  current(signal: AbortSignal): Promise<void>;
  /** The informers of other API servers, whose stores {@link current} does not wait for. */
  readonly remote: readonly RemoteInformer[];
  /** The kinds of which every replica publishes these lists. */
  readonly published: Readonly<Record<PublishedListName, Published>>;
  /** The digest function for the data in the stores. */
  readonly digestOf: DataDigest;
}

/** An informer of another API server. */
type RemoteInformer = Pick<Informer<unknown>, "watchState" | "synced">;

/** Options of {@link createInformers}. */
interface InformersOptions<W extends SyncWorld> extends NamespaceOptions {
  /** Latchkey's own namespace. */
  readonly namespace: string;
  readonly onChange: (changed: Changed<W>) => void;
  readonly watched: Watched<W>;
}

/** Creates an informer for every watched kind. */
export function createInformers<W extends SyncWorld>(
  deps: InformerDeps,
  { namespace, requireSyncFrom, copyKeys, onChange, watched }: InformersOptions<W>,
): Informers<W> {
  const digestOf = createDataDigest();
  const kinds: WatchedKindInformer<W>[] = [];
  const published = {
    revoked: new PublishedKinds(deps.clock),
    roles: new PublishedKinds(deps.clock),
  } satisfies Informers<W>["published"];
  const remote: RemoteInformer[] = [];
  const watch: Watch<W> = (kind, from) => {
    const lists = (kind.publishedIn ?? []).map((name) => published[name]);
    const informer = informerOf(kind, from ?? deps, (changed) => {
      onChange(changed);
      for (const list of lists) list.announce();
    });
    for (const list of lists) list.add(informer);
    kinds.push({ ...kind, informer });
    if (from !== undefined) remote.push(informer);
    return informer.store;
  };
  const context = { namespace, requireSyncFrom, copyKeys, digestOf, stores: () => stores };
  const stores: W["stores"] = watched.kinds(context, watch);
  const all = kinds.map(({ informer }) => informer);
  const optional = kinds.flatMap(({ isOptional, informer }) => (isOptional ? informer : []));
  const waived: readonly RemoteInformer[] = [...remote, ...optional];
  const own = all.filter((informer) => !waived.some((other) => other === informer));
  return {
    stores,
    published,
    digestOf,
    remote,
    reconcilers: [...kinds.flatMap(({ reconciler }) => reconciler ?? []), ...watched.reconcilers],
    async current(signal) {
      const { clock } = deps;
      await untilFresh(own, { clock, signal });
      // Without them, a new leader would say of each cluster that it is not reachable.
      const enough = new AbortController();
      const cancel = clock.wakeAfter(longestOptionalWaitMs, () => enough.abort());
      await untilFresh(optional, { clock, signal: AbortSignal.any([signal, enough.signal]) });
      cancel();
    },
    run: async (signal) =>
      void (await Promise.all(kinds.map((kind) => runInOrder(kind, kinds, signal)))),
    async enqueueAll(enqueuer) {
      for (const { enqueueAll } of kinds) await enqueueAll?.(enqueuer);
    },
    staleReasons: () => staleReasons(own, deps.clock.monotonic()),
    warnings: () => staleReasons(optional, deps.clock.monotonic()),
    watches: () => watchReadings(all, deps.clock),
    ...ownWrites(kinds, { stores, namespace }),
    recordFollowed(key, data, pace) {
      const { sharedSecrets } = stores;
      const source = sharedSecrets.get(key);
      const next = source && following(source, { data, ...pace }, digestOf);
      if (next !== undefined)
        kinds.find(({ informer }) => informer.store === sharedSecrets)?.informer.amend(key, next);
    },
  };
}

/** How long a new leader waits for optional kinds. */
const longestOptionalWaitMs = 10_000;

interface WatchedKindInformer<W extends SyncWorld> extends Pick<
  WatchedKind<unknown, W>,
  | "listOptions"
  | "listedAfter"
  | "isReadOnly"
  | "isOptional"
  | "mayBeAt"
  | "enqueueAll"
  | "reconciler"
> {
  readonly informer: Pick<
    Informer<unknown>,
    | "resource"
    | "store"
    | "watchState"
    | "synced"
    | "run"
    | "observe"
    | "observeDelete"
    | "refresh"
    | "amend"
  >;
}

interface OwnNamespace {
  readonly stores: SyncStores;
  readonly namespace: string;
}

/** Puts what this process writes, and what it reads again, into the stores. */
function ownWrites<W extends SyncWorld>(
  kinds: readonly WatchedKindInformer<W>[],
  { stores, namespace }: OwnNamespace,
): Omit<OwnWrites, "recordFollowed"> & { readonly refresh: Informers["refresh"] } {
  return {
    has: ({ resource, ref }) =>
      kinds.some(
        ({ listOptions, informer }) =>
          listOptions.resource === resource && informer.store.has(keyOf(ref)),
      ),
    recordWrite(resource, answer) {
      for (const { listOptions, isReadOnly, informer } of kinds) {
        if (
          isReadOnly !== true &&
          listOptions.resource === resource &&
          // An object may leave the selection by a write.
          (selects(listOptions, answer) || informer.store.has(rawKey(answer)))
        )
          informer.observe(answer);
      }
    },
    recordDelete(resource, ref, uid) {
      for (const { listOptions, isReadOnly, informer } of kinds)
        if (isReadOnly !== true && listOptions.resource === resource)
          informer.observeDelete(keyOf(ref), uid);
    },
    async refresh(resource, ref) {
      if (resource === resources.secrets) return refreshSecret(ref, { kinds, stores, namespace });
      const kind = kinds.find(
        ({ listOptions, isReadOnly }) => isReadOnly !== true && listOptions.resource === resource,
      );
      await kind?.informer.refresh(keyOf(ref));
    },
  };
}

/** Runs the informer of a kind once the kinds in its `listedAfter` are listed. */
async function runInOrder<W extends SyncWorld>(
  { informer, listedAfter = [] }: WatchedKindInformer<W>,
  kinds: readonly WatchedKindInformer<W>[],
  signal: AbortSignal,
): Promise<void> {
  const listed = Promise.all(
    kinds
      .filter(({ listOptions }) => listedAfter.includes(listOptions.resource))
      .map((kind) => kind.informer.synced),
  );
  await Promise.race([listed, aborted(signal)]);
  await informer.run(signal);
}

function informerOf<T, W extends SyncWorld>(
  { listOptions, parse, publishedIn, enqueue, countedAs, says, ...kind }: WatchedKind<T, W>,
  deps: InformerDeps,
  onChange: InformersOptions<W>["onChange"],
): Informer<T> {
  const { indexers, codec, sizeOf, mayBeUnserved } = kind;
  const counted = (object: T | undefined): CountedObject | undefined =>
    object === undefined ? undefined : countedAs?.(object);
  return new Informer<T>(
    {
      listOptions,
      parse,
      ...(indexers === undefined ? {} : { indexers }),
      ...(codec === undefined ? {} : { codec }),
      ...(sizeOf === undefined ? {} : { sizeOf }),
      ...(mayBeUnserved === undefined ? {} : { optional: mayBeUnserved }),
      onChange(change) {
        const [before, after] = [counted(change.before), counted(change.after)];
        onChange({
          resource: listOptions.resource,
          enqueue: (enqueuer) => enqueue(change, enqueuer),
          says: () => says?.(change) ?? [],
          ...(before === undefined ? {} : { before }),
          ...(after === undefined ? {} : { after }),
        });
      },
    },
    publishedIn !== undefined ? { ...deps, watchTimes: provingWatchTimes } : deps,
  );
}

/**
 * Refreshes a Secret in the stores that may contain it, metadata first: a Secret that Latchkey does
 * not manage is never read with its data.
 */
async function refreshSecret<W extends SyncWorld>(
  ref: ObjectRef,
  {
    kinds,
    stores,
    namespace,
  }: OwnNamespace & { readonly kinds: readonly WatchedKindInformer<W>[] },
): Promise<void> {
  const key = keyOf(ref);
  const refresh = async (store: ReadStore<unknown>): Promise<void> =>
    kinds.find(({ informer }) => informer.store === store)?.informer.refresh(key);
  for (const { mayBeAt, informer } of kinds)
    if (mayBeAt?.(ref) === true) await informer.refresh(key);
  const isOwn = ref.namespace === namespace;
  await refresh(stores.unmanagedSecrets);
  if (!stores.copies.has(key) && (isOwn || stores.unmanagedSecrets.has(key))) return;
  await refresh(stores.copies);
  if (!stores.copies.has(key)) await refresh(stores.placeholders);
}
