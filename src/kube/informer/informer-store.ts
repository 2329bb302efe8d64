import type { Key } from "../../api/object.ts";
import type { Logger } from "../../runtime/log.ts";
import { isKubeError } from "../client/kube-error.ts";
import {
  type InformerState,
  isStored,
  type Removal,
  takeEvent,
  takeRead,
} from "./informer-state.ts";
import type { InformerOptions } from "./informer-options.ts";
import { rawKey, rawUid, rawVersion, selects } from "./raw-object.ts";
import { type StoreEntry, type ReadStore, Store } from "./store.ts";
import type { WatchEvent } from "./watch-stream.ts";

/**
 * The objects of an informer: parses them, keeps the newest of each by the rules of
 * `informer-state.ts`, and reports changes.
 */
export class InformerStore<T> implements InformerState<StoreEntry<T>> {
  readonly removals = new Map<Key, Removal>();
  readonly #options: InformerOptions<T>;
  readonly #log: Logger;
  readonly #objects: Store<T>;
  /** Reads without a response yet; one that an event has overtaken is older than the store. */
  readonly #reads = new Set<{ readonly key: Key; isOvertaken: boolean }>();

  constructor(options: InformerOptions<T>, log: Logger) {
    this.#options = options;
    this.#log = log;
    this.#objects = new Store(options.indexers, options.codec, options.sizeOf);
  }

  get objects(): ReadStore<T> {
    return this.#objects;
  }

  entry(key: Key): StoreEntry<T> | undefined {
    return this.#objects.entry(key);
  }

  keys(): ReturnType<Store<T>["keys"]> {
    return this.#objects.keys();
  }

  set(key: Key, entry: StoreEntry<T> | undefined): void {
    this.#overtake(key);
    const before = this.#objects.get(key);
    if (entry === undefined) this.#objects.remove(key);
    else this.#objects.set(key, entry);
    this.#options.onChange({ key, before, after: entry?.value });
  }

  /** Replaces the value of an object that is stored. */
  amend(key: Key, value: T): void {
    const entry = this.#objects.entry(key);
    if (entry === undefined) return;
    const { value: before } = entry;
    this.#objects.set(key, { ...entry, value });
    this.#options.onChange({ key, before, after: value });
  }

  selects(raw: unknown): boolean {
    return selects(this.#options.listOptions, raw);
  }

  parse(raw: unknown): StoreEntry<T> | undefined {
    const { listOptions, parse } = this.#options;
    try {
      const value = parse(raw);
      if (value === undefined) return undefined;
      return { uid: rawUid(raw) ?? "", resourceVersion: rawVersion(raw) ?? "", value };
    } catch (error) {
      this.#log.error(
        { resource: listOptions.resource.plural, object: rawKey(raw), error },
        "parsing the object failed",
      );
      return undefined;
    }
  }

  /**
   * Handles a watch event that is not a bookmark; it takes precedence over a pending read. Returns
   * the resourceVersion of its object.
   */
  handle(event: WatchEvent): string | undefined {
    const { head } = event;
    // The event of an own write: its response is stored already, so the object is not parsed again.
    if (head !== undefined && isStored(this, head)) {
      this.#overtake(head.key);
      return head.resourceVersion;
    }
    const { type, object } = event;
    this.#overtake(rawKey(object));
    takeEvent(this, { type, object });
    return rawVersion(object);
  }

  /** Stores the response of a read, unless a watch event arrives meanwhile. */
  async refresh(key: Key, get: () => Promise<unknown>): Promise<void> {
    const read = { key, isOvertaken: false };
    this.#reads.add(read);
    try {
      const answer = await get().finally(() => this.#reads.delete(read));
      if (read.isOvertaken) return;
      this.#overtake(key);
      takeRead(this, key, answer);
    } catch (error) {
      if (!isKubeError(error)) throw error;
    }
  }

  #overtake(key: Key): void {
    for (const read of this.#reads) read.isOvertaken ||= read.key === key;
  }
}
