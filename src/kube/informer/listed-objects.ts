import type { Key } from "../../api/object.ts";
import type { WatchEvent } from "./watch-stream.ts";
import { rawKey, rawVersion } from "./raw-object.ts";
import type { Entry } from "./store.ts";

/**
 * The objects of a list, collected apart from the store: the resourceVersion of a list is unknown
 * until it ends.
 */
export class ListedObjects<T> {
  readonly #parse: (raw: unknown) => Entry<T> | undefined;
  readonly #storedVersion: (key: Key) => string | undefined;
  readonly #present = new Set<Key>();
  /** The uids of objects that own deletes have removed before the list. */
  readonly deletedBefore: ReadonlySet<string>;
  readonly #changed = new Map<Key, Entry<T> | undefined>();

  /**
   * `storedVersion` returns the resourceVersion in the store; an object with the same
   * resourceVersion is not parsed again.
   */
  constructor({
    parse,
    storedVersion,
    deletedBefore,
  }: {
    readonly parse: (raw: unknown) => Entry<T> | undefined;
    readonly storedVersion: (key: Key) => string | undefined;
    readonly deletedBefore: ReadonlySet<string>;
  }) {
    [this.#parse, this.#storedVersion] = [parse, storedVersion];
    this.deletedBefore = deletedBefore;
  }

  take({ type, object }: WatchEvent): void {
    const key = rawKey(object);
    this.#changed.delete(key);
    if (type === "DELETED") this.#present.delete(key);
    else {
      this.#present.add(key);
      if (rawVersion(object) !== this.#storedVersion(key))
        this.#changed.set(key, this.#parse(object));
    }
  }

  has(key: Key): boolean {
    return this.#present.has(key);
  }

  /**
   * Removes and returns the collected entries that differ from the store; undefined for an object
   * that is not stored.
   */
  drain(): readonly (readonly [Key, Entry<T> | undefined])[] {
    if (this.#changed.size === 0) return [];
    const changed = [...this.#changed];
    this.#changed.clear();
    return changed;
  }
}
