import type { Key } from "../../api/object.ts";
import type { Logger } from "../../runtime/log.ts";
import { isKubeError } from "../client/kube-error.ts";
import type { ListOptions } from "./list-options.ts";
import { ListedObjects } from "./listed-objects.ts";
import { LiveReads } from "./live-reads.ts";
import { isOlder, type ObjectHead, rawKey, rawUid, rawVersion, selects } from "./raw-object.ts";
import {
  type Change,
  type Codec,
  type Entry,
  type Indexer,
  type ReadStore,
  Store,
} from "./store.ts";
import type { WatchEvent } from "./watch-stream.ts";
import type { Yielder } from "../../runtime/yielder.ts";

/** Options of an informer. */
export interface InformerOptions<T> {
  readonly listOptions: ListOptions;
  /** Parses an object for the store; undefined if it is not stored. Throws on an invalid object. */
  readonly parse: (raw: unknown) => T | undefined;
  readonly indexers?: Readonly<Record<string, Indexer<T>>>;
  readonly codec?: Codec<T>;
  readonly onChange: (change: Change<T>) => void;
  /** Treats a resource that the API server does not serve as empty. */
  readonly optional?: boolean;
}

/** The objects of an informer: parses them, keeps the newest of each and reports changes. */
export class InformerStore<T> {
  readonly #options: InformerOptions<T>;
  readonly #log: Pick<Logger, "error">;
  readonly #objects: Store<T>;
  readonly #liveReads = new LiveReads();
  /**
   * The uids of objects that own deletes have removed, or that a read has not found, until their
   * DELETED event or a list.
   */
  readonly #deleted = new Set<string>();

  constructor(options: InformerOptions<T>, log: Pick<Logger, "error">) {
    this.#options = options;
    this.#log = log;
    this.#objects = new Store(options.indexers, options.codec);
  }

  get objects(): ReadStore<T> {
    return this.#objects;
  }

  entry(key: Key): Entry<T> | undefined {
    return this.#objects.entry(key);
  }

  keys(): ReturnType<Store<T>["keys"]> {
    return this.#objects.keys();
  }

  /** Removes an object after an own delete; its earlier events do not store it again. */
  observeDelete(key: Key, uid: string): void {
    if (this.#objects.entry(key)?.uid !== uid) return;
    this.#deleted.add(uid);
    this.put(key, undefined);
  }

  /** Begins a list, which {@link replaceBy} ends. */
  beginList(): ListedObjects<T> {
    return new ListedObjects<T>({
      parse: (raw) => this.parse(raw),
      storedVersion: (key) => this.entry(key)?.resourceVersion,
      deletedBefore: new Set(this.#deleted),
    });
  }

  /**
   * Stores what a list contains and removes what it lacks, also where the store has a newer version:
   * etcd may have been restored. What was written after the `resourceVersion` of the list stays.
   */
  async replaceBy(
    listed: ListedObjects<T>,
    { resourceVersion, yielder }: { readonly resourceVersion?: string; readonly yielder: Yielder },
  ): Promise<void> {
    for (const uid of listed.deletedBefore) this.#deleted.delete(uid);
    const isAfterList = (key: Key): boolean =>
      isOlder(resourceVersion, this.entry(key)?.resourceVersion);
    await yielder.forEach(listed.drain(), ([key, entry]) => {
      const isDeleted = entry !== undefined && this.#deleted.has(entry.uid);
      if (!isAfterList(key) && !isDeleted) this.put(key, entry);
    });
    await yielder.forEach(this.keys(), (key) => {
      if (!listed.has(key) && !isAfterList(key)) this.put(key, undefined);
    });
  }

  /**
   * Stores an object, or removes one that is no longer selected, unless a newer one is stored or it
   * was deleted.
   */
  take(raw: unknown): void {
    if (this.#deleted.has(rawUid(raw) ?? "")) return;
    const key = rawKey(raw);
    const stored = this.#objects.entry(key);
    const resourceVersion = rawVersion(raw);
    if (
      stored !== undefined &&
      (resourceVersion === stored.resourceVersion ||
        isOlder(resourceVersion, stored.resourceVersion))
    )
      return;
    this.put(key, this.#parseSelected(raw));
  }

  /** Stores an entry, or removes what is stored, and reports the change. */
  put(key: Key, entry: Entry<T> | undefined): void {
    const stored = this.#objects.entry(key);
    this.#liveReads.overtake(key);
    if (stored === undefined && entry === undefined) return;
    if (stored?.resourceVersion === entry?.resourceVersion && stored?.uid === entry?.uid) return;
    const recreated = stored !== undefined && entry !== undefined && stored.uid !== entry.uid;
    if (recreated) {
      this.put(key, undefined);
      this.put(key, entry);
      return;
    }
    if (entry === undefined) this.#objects.remove(key);
    else this.#objects.set(key, entry);
    this.#options.onChange({ key, before: stored?.value, after: entry?.value });
  }

  /**
   * Handles a watch event that is not a bookmark; it takes precedence over a pending read. Returns
   * the resourceVersion of its object.
   */
  handle(event: WatchEvent): string | undefined {
    const { head } = event;
    // The event of an own write: its response is stored already, so the object is not parsed again.
    if (head !== undefined && this.#has(head)) {
      this.#liveReads.overtake(head.key);
      return head.resourceVersion;
    }
    const { type, object } = event;
    const [key, resourceVersion] = [rawKey(object), rawVersion(object)];
    this.#liveReads.overtake(key);
    if (type === "DELETED") this.#deleted.delete(rawUid(object) ?? "");
    if (type !== "DELETED") this.take(object);
    else if (!isOlder(resourceVersion, this.#objects.entry(key)?.resourceVersion))
      this.put(key, undefined);
    return resourceVersion;
  }

  /** Stores the response of a read, unless a watch event arrives meanwhile. */
  async refresh(key: Key, get: () => Promise<unknown>): Promise<void> {
    try {
      const read = await this.#liveReads.read(key, get);
      if (read === undefined) return;
      const { answer } = read;
      // A delete that etcd has lost.
      this.#deleted.delete(rawUid(answer) ?? "");
      const stored = this.#objects.entry(key);
      if (answer === undefined && stored !== undefined) this.#deleted.add(stored.uid);
      this.put(key, answer === undefined ? undefined : this.#parseSelected(answer));
    } catch (error) {
      if (!isKubeError(error)) throw error;
    }
  }

  /** Whether exactly this version of an object is stored. */
  #has({ key, uid, resourceVersion }: ObjectHead): boolean {
    const stored = this.#objects.entry(key);
    return stored?.uid === uid && stored.resourceVersion === resourceVersion;
  }

  #parseSelected(raw: unknown): Entry<T> | undefined {
    return selects(this.#options.listOptions, raw) ? this.parse(raw) : undefined;
  }

  /** Parses an object into an entry; undefined if it is not stored or cannot be parsed. */
  parse(raw: unknown): Entry<T> | undefined {
    try {
      const value = this.#options.parse(raw);
      return value === undefined
        ? undefined
        : {
            uid: rawUid(raw) ?? "",
            resourceVersion: rawVersion(raw) ?? "",
            value,
          };
    } catch (error) {
      this.#log.error(
        { resource: this.#options.listOptions.resource.plural, object: rawKey(raw), error },
        "parsing the object failed",
      );
      return undefined;
    }
  }
}
