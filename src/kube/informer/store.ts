import type { Key } from "../../api/object.ts";

/** A stored object. */
export interface StoreEntry<T> {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly value: T;
}

/** A change of a store; `before` and `after` have the same uid if both are set. */
export interface Change<T> {
  readonly key: Key;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

/** Returns the index values of an object. */
export type Indexer<T> = (value: T) => readonly string[];

/** Read access to a store. */
export interface ReadStore<T> {
  get(key: Key): T | undefined;
  has(key: Key): boolean;
  keys(): readonly Key[];
  values(): IterableIterator<T>;
  /** The objects with the index value `name`. */
  by(index: string, name: string): readonly T[];
  /** The keys of the objects with the index value `name`. */
  keysBy(index: string, name: string): readonly Key[];
  /** Number of objects with the index value `name`. */
  countBy(index: string, name: string): number;
  /** Sum of the sizes of these objects; 0 if the store has no sizes. */
  sizeBy(index: string, name: string): number;
  /** All values of an index. */
  namesIn(index: string): IterableIterator<string>;
  readonly size: number;
}

/** Encodes each object as one string, to save memory with very many objects. */
export interface Codec<T> {
  encode(entry: StoreEntry<T>): string;
  /** Decodes the entry of this key. */
  decode(text: string, key: Key): StoreEntry<T>;
}

const mostUnpacked = 1_000;

interface Index<T> {
  readonly namesOf: Indexer<T>;
  /**
   * The key itself if only one object has an index value: a set for each value would take more
   * memory than its content.
   */
  readonly keys: Map<string, Key | Set<Key>>;
  /** Sum of the sizes of the objects with an index value. */
  readonly sizes: Map<string, number>;
}

/**
 * Objects by key, with indexes that are updated with every change. With a codec, a read decodes the
 * object, unless it was decoded recently.
 *
 * @example
 *   const copies = new Store<Copy>({ bySource: ({ source }) => [source] });
 *   copies.by("bySource", "team/db"); // all copies of it
 */
export class Store<T> implements ReadStore<T> {
  readonly #entries = new Map<Key, StoreEntry<T> | string>();
  readonly #indexes: ReadonlyMap<string, Index<T>>;
  readonly #codec: Codec<T> | undefined;
  readonly #sizeOf: ((value: T) => number) | undefined;
  /**
   * Recently decoded objects: a change and its reconcile read an object repeatedly, and a few keys
   * are read all the time.
   */
  readonly #unpacked = new Map<Key, StoreEntry<T>>();

  constructor(
    indexers: Readonly<Record<string, Indexer<T>>> = {},
    packing?: Codec<T>,
    sizeOf?: (value: T) => number,
  ) {
    this.#indexes = new Map(
      Object.entries(indexers).map(([name, namesOf]) => [
        name,
        { namesOf, keys: new Map(), sizes: new Map() },
      ]),
    );
    this.#codec = packing;
    this.#sizeOf = sizeOf;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): T | undefined {
    return this.entry(key)?.value;
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  entry(key: Key): StoreEntry<T> | undefined {
    const stored = this.#entries.get(key);
    if (typeof stored !== "string") return stored;
    return this.#unpacked.get(key) ?? this.#remember(key, this.#codec?.decode(stored, key));
  }

  keys(): readonly Key[] {
    return [...this.#entries.keys()];
  }

  *values(): IterableIterator<T> {
    for (const key of this.#entries.keys()) {
      const value = this.get(key);
      if (value !== undefined) yield value;
    }
  }

  by(index: string, name: string): readonly T[] {
    return this.keysBy(index, name).flatMap((key) => this.get(key) ?? []);
  }

  keysBy(index: string, name: string): readonly Key[] {
    const named = this.#index(index).keys.get(name);
    return typeof named === "string" ? [named] : [...(named ?? [])];
  }

  countBy(index: string, name: string): number {
    const named = this.#index(index).keys.get(name);
    return named instanceof Set ? named.size : named === undefined ? 0 : 1;
  }

  sizeBy(index: string, name: string): number {
    return this.#index(index).sizes.get(name) ?? 0;
  }

  namesIn(index: string): IterableIterator<string> {
    return this.#index(index).keys.keys();
  }

  set(key: Key, entry: StoreEntry<T>): void {
    this.#unindex(key);
    this.#entries.set(key, this.#codec?.encode(entry) ?? entry);
    if (this.#codec !== undefined) this.#remember(key, entry);
    const size = this.#sizeOf?.(entry.value) ?? 0;
    for (const index of this.#indexes.values()) {
      const { namesOf, keys } = index;
      for (const name of namesOf(entry.value)) {
        this.#resize(index, name, size);
        const named = keys.get(name);
        if (named === undefined || named === key) keys.set(name, key);
        else if (typeof named === "string") keys.set(name, new Set([named, key]));
        else named.add(key);
      }
    }
  }

  remove(key: Key): void {
    this.#unindex(key);
    this.#entries.delete(key);
    this.#unpacked.delete(key);
  }

  #remember(key: Key, entry: StoreEntry<T> | undefined): StoreEntry<T> | undefined {
    if (entry === undefined) return undefined;
    this.#unpacked.delete(key);
    this.#unpacked.set(key, entry);
    const [oldest] = this.#unpacked.size > mostUnpacked ? this.#unpacked.keys() : [];
    if (oldest !== undefined) this.#unpacked.delete(oldest);
    return entry;
  }

  #unindex(key: Key): void {
    const entry = this.entry(key);
    if (entry === undefined) return;
    const size = this.#sizeOf?.(entry.value) ?? 0;
    for (const index of this.#indexes.values()) {
      const { namesOf, keys } = index;
      for (const name of namesOf(entry.value)) {
        this.#resize(index, name, -size);
        const named = keys.get(name);
        if (named instanceof Set) named.delete(key);
        if (named === key || (named instanceof Set && named.size === 0)) keys.delete(name);
      }
    }
  }

  #resize({ sizes }: Index<T>, name: string, by: number): void {
    const size = (sizes.get(name) ?? 0) + by;
    if (size === 0) sizes.delete(name);
    else sizes.set(name, size);
  }

  #index(name: string): Index<T> {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`the store has no index ${name}`);
    return index;
  }
}
