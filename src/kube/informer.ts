import { type Key, keyOf } from "../api/object.ts";
import { recordAt, stringAt } from "../api/parse.ts";
import type { Resource } from "../api/resources.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { sleep } from "../runtime/sleep.ts";
import { isKubeError, KubeError } from "./errors.ts";
import { relaxedWatchTimes, watchGraceMs, type WatchState, type WatchTimes } from "./freshness.ts";
import type { ListWatch, Selection, WatchEvent } from "./list-watch.ts";
import { type Change, type Entry, type Indexer, type Packing, type ReadStore, Store } from "./store.ts";
import type { Turns } from "./turns.ts";

/** What an informer is made of. */
export interface InformerOptions<T> {
  readonly selection: Selection;
  /** Turns what the API server sent into what is held; undefined: not held. Throws on what cannot be read. */
  readonly parse: (raw: unknown) => T | undefined;
  readonly indexers?: Readonly<Record<string, Indexer<T>>>;
  readonly packing?: Packing<T>;
  readonly onChange: (change: Change<T>) => void;
  /** An API server that does not serve the resource counts as one that holds no such object. */
  readonly optional?: boolean;
}

/** What an informer needs around it; `random` is in [0, 1). */
export interface InformerDeps {
  readonly listWatch: ListWatch;
  readonly clock: Clock;
  readonly turns: Turns;
  readonly log: Logger;
  readonly random: () => number;
  /** Few requests (`relaxedWatchTimes`) unless given. */
  readonly watchTimes?: WatchTimes;
}

const firstBackoffMs = 800;
const healthyMs = 5_000;
/** A resource that is not served yet is looked for this often: its CRD may be on its way. */
const unservedMs = 5_000;
/** One list older than what was seen before comes from a cache that lags; so many in a row mean a restored backup. */
const believedLists = 3;

/**
 * Keeps a store equal to what the API server holds, for ever: resumes at the last resourceVersion after any failure
 * and lists again after 410 (Kubernetes API concepts, "Efficient detection of changes").
 */
export class Informer<T> {
  readonly #options: InformerOptions<T>;
  readonly #deps: InformerDeps;
  readonly #store: Store<T>;
  readonly #synced = Promise.withResolvers<void>();
  #isSynced = false;
  #isFollowing = false;
  #openedAt: number | undefined;
  #resourceVersion: string | undefined;
  #earlierLists = 0;

  constructor(options: InformerOptions<T>, deps: InformerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#store = new Store(options.indexers, options.packing);
  }

  get resource(): Resource {
    return this.#options.selection.resource;
  }

  get store(): ReadStore<T> {
    return this.#store;
  }

  /** Resolves when the first list is in the store. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Whether a watch is open, as far as can be told: what the store holds is then a moment old at most. */
  get isFollowing(): boolean {
    return this.#isFollowing;
  }

  /** What tells how old the store may be, by the monotonic clock. */
  get watchState(): WatchState {
    return { isSynced: this.#isSynced, openedAt: this.#openedAt };
  }

  /** Follows the API server until the signal aborts; never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { longestBackoffMs, longestAbsenceMs } = this.#times;
    const shortestMs = Math.min(firstBackoffMs, longestBackoffMs);
    let backoffMs = shortestMs;
    let relist = true;
    let forgottenAt = -Infinity;
    while (!signal.aborted) {
      const startedAt = this.#deps.clock.monotonic();
      let [failed, isForgotten] = [false, false];
      let longestMs = longestBackoffMs;
      try {
        if (relist) await this.#list();
        relist = false;
        relist = await this.#watch(signal);
      } catch (error) {
        failed = true;
        isForgotten = isKubeError(error, "Gone") && !relist;
        relist ||= isKubeError(error, "Gone", "NotFound");
        if (!isKubeError(error, "NotFound")) this.#report(error);
        else if (this.#options.optional === true) {
          this.#markEmpty();
          longestMs = longestAbsenceMs;
        } else {
          longestMs = Math.min(unservedMs, longestBackoffMs);
          this.#report(error);
        }
      }
      const endedAt = this.#deps.clock.monotonic();
      const livedMs = endedAt - startedAt;
      if (livedMs >= healthyMs) backoffMs = shortestMs;
      // An API server that was away has forgotten where the watch was, and is there again: it is listed at once, but not over and over.
      if (isForgotten && endedAt - forgottenAt >= healthyMs) {
        [forgottenAt, backoffMs] = [endedAt, shortestMs];
        continue;
      }
      if (!failed && livedMs >= firstBackoffMs) continue;
      await sleep(Math.min(backoffMs, longestMs) * (0.5 + this.#deps.random()), { clock: this.#deps.clock, signal });
      backoffMs = Math.min(backoffMs * 2, longestMs);
    }
  }

  /**
   * Takes in the answer of a write of our own, so that the next pass sees it before the watch tells. What the watch
   * has passed already is left to it: the object may be gone since.
   */
  observe(raw: unknown): void {
    const resourceVersion = stringAt(recordAt(raw, "metadata"), "resourceVersion");
    if (this.#resourceVersion !== undefined && isOlder(this.#resourceVersion, resourceVersion)) this.#take(raw);
  }

  /** Takes in an object that was read directly, unless one of its name is held. */
  adopt(raw: unknown): void {
    if (this.#store.entry(rawKey(raw)) === undefined) this.#put(rawKey(raw), this.#parse(raw));
  }

  /** Forgets an object that a direct read did not find. */
  drop(key: Key): void {
    this.#put(key, undefined);
  }

  get #times(): WatchTimes {
    return this.#deps.watchTimes ?? relaxedWatchTimes;
  }

  async #list(): Promise<void> {
    const present = new Set<Key>();
    let first: { readonly resourceVersion: string; readonly historyReset: boolean } | undefined;
    await this.#deps.listWatch.list(this.#options.selection, async ({ items, resourceVersion }) => {
      first ??= { resourceVersion, historyReset: this.#isHistoryReset(resourceVersion) };
      const { historyReset } = first;
      await this.#deps.turns.each(items, (raw) => {
        const key = rawKey(raw);
        const entry = this.#parse(raw);
        present.add(key);
        if (historyReset || !isOlder(entry?.resourceVersion, this.#store.entry(key)?.resourceVersion)) this.#put(key, entry);
      });
    });
    const { resourceVersion, historyReset } = first ?? { resourceVersion: "", historyReset: false };
    await this.#deps.turns.each(this.#store.keys(), (key) => {
      const stays = present.has(key) || (!historyReset && isOlder(resourceVersion, this.#store.entry(key)?.resourceVersion));
      if (!stays) this.#put(key, undefined);
    });
    this.#resourceVersion = resourceVersion;
    this.#markSynced();
  }

  /** Whether the history of the API server began anew; throws `Gone` while an old list may still come from a cache that lags. */
  #isHistoryReset(resourceVersion: string): boolean {
    const isEarlier = isOlder(resourceVersion, this.#resourceVersion ?? "0");
    this.#earlierLists = isEarlier ? this.#earlierLists + 1 : 0;
    if (isEarlier && this.#earlierLists < believedLists) throw this.#doubt(resourceVersion);
    return isEarlier;
  }

  #doubt(resourceVersion: string): KubeError {
    const message = `${this.resource.plural}: resourceVersion ${resourceVersion} is older than ${this.#resourceVersion ?? ""}, which was seen before`;
    return new KubeError(message, { code: "Gone", status: 0 });
  }

  /** That the API server serves no such resource is an answer, too. */
  #markEmpty(): void {
    this.#openedAt = this.#deps.clock.monotonic();
    for (const key of this.#store.keys()) this.#put(key, undefined);
    this.#markSynced();
  }

  #markSynced(): void {
    this.#isSynced = true;
    this.#synced.resolve();
  }

  /** Answers whether to list again: a watch from beyond the history of a restored etcd is answered with 200 and silence, without a bookmark. */
  async #watch(signal: AbortSignal): Promise<boolean> {
    const { watchSeconds, openMs } = this.#times;
    const timeoutSeconds = watchSeconds.least + Math.floor(this.#deps.random() * (watchSeconds.most - watchSeconds.least));
    const { clock } = this.#deps;
    const startedAt = clock.monotonic();
    let isSilent = true;
    // The watch begins with all that was missed, but a list is older than the watch after it.
    const onOpen = (): void => {
      this.#isFollowing = true;
      this.#openedAt = clock.monotonic();
    };
    const from = { resourceVersion: this.#resourceVersion ?? "", timeoutSeconds, openMs, signal, onOpen };
    try {
      await this.#deps.listWatch.watch(this.#options.selection, from, (events) => {
        isSilent &&= events.length === 0;
        for (const event of events) this.#handle(event);
      });
    } finally {
      this.#isFollowing = false;
    }
    const livedMs = clock.monotonic() - startedAt;
    return isSilent && livedMs >= timeoutSeconds * 1000 && livedMs < timeoutSeconds * 1000 + watchGraceMs;
  }

  #handle({ type, object }: WatchEvent): void {
    const resourceVersion = stringAt(recordAt(object, "metadata"), "resourceVersion");
    if (type === "DELETED") {
      const held = this.#store.entry(rawKey(object));
      if (!isOlder(resourceVersion, held?.resourceVersion)) this.#put(rawKey(object), undefined);
    } else if (type !== "BOOKMARK") this.#take(object);
    else if (isOlder(resourceVersion, this.#resourceVersion)) throw this.#doubt(resourceVersion ?? "");
    this.#resourceVersion = resourceVersion ?? this.#resourceVersion;
  }

  #take(raw: unknown): void {
    const key = rawKey(raw);
    const held = this.#store.entry(key);
    const resourceVersion = stringAt(recordAt(raw, "metadata"), "resourceVersion");
    if (held !== undefined && (resourceVersion === held.resourceVersion || isOlder(resourceVersion, held.resourceVersion))) return;
    this.#put(key, this.#parse(raw));
  }

  #parse(raw: unknown): Entry<T> | undefined {
    const metadata = recordAt(raw, "metadata");
    try {
      const value = this.#options.parse(raw);
      if (value === undefined) return undefined;
      return { uid: stringAt(metadata, "uid") ?? "", resourceVersion: stringAt(metadata, "resourceVersion") ?? "", value };
    } catch (error) {
      this.#deps.log.error({ resource: this.resource.plural, object: rawKey(raw), error }, "object cannot be read");
      return undefined;
    }
  }

  #put(key: Key, entry: Entry<T> | undefined): void {
    const held = this.#store.entry(key);
    if (held === undefined && entry === undefined) return;
    if (held?.resourceVersion === entry?.resourceVersion && held?.uid === entry?.uid) return;
    const recreated = held !== undefined && entry !== undefined && held.uid !== entry.uid;
    if (recreated) {
      this.#put(key, undefined);
      this.#put(key, entry);
      return;
    }
    if (entry === undefined) this.#store.remove(key);
    else this.#store.set(key, entry);
    this.#options.onChange({ key, before: held?.value, after: entry?.value });
  }

  #report(error: unknown): void {
    const resource = this.resource.plural;
    this.#deps.log.warn(isKubeError(error) ? { resource, code: error.code, why: error.message } : { resource, error }, "watch interrupted");
  }
}

function rawKey(raw: unknown): Key {
  const metadata = recordAt(raw, "metadata");
  const namespace = stringAt(metadata, "namespace");
  const name = stringAt(metadata, "name") ?? "";
  return keyOf(namespace === undefined ? { name } : { namespace, name });
}

/** Resource versions of one resource are comparable as whole numbers (Kubernetes API concepts, "Resource versions"). */
function isOlder(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one.length === other.length ? one < other : one.length < other.length;
}
