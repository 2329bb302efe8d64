import type { Key } from "../api/object.ts";

/** An object as a store holds it. */
export interface Entry<T> {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly value: T;
}

/** What an informer tells after its store has changed; `before` and `after` are of one uid when both are there. */
export interface Change<T> {
  readonly key: Key;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

/** Names of the values under which an object is found again. */
export type Indexer<T> = (value: T) => readonly string[];

/** What a reader may ask of a store. */
export interface ReadStore<T> {
  get(key: Key): T | undefined;
  values(): IterableIterator<T>;
  /** The objects that the index names by `name`. */
  by(index: string, name: string): readonly T[];
  /** The names that an index has. */
  namesIn(index: string): IterableIterator<string>;
  readonly size: number;
}

/** Objects by key, with indexes that follow every change. */
export class Store<T> implements ReadStore<T> {
  readonly #entries = new Map<Key, Entry<T>>();
  readonly #indexes: ReadonlyMap<string, { readonly namesOf: Indexer<T>; readonly keys: Map<string, Set<Key>> }>;

  constructor(indexers: Readonly<Record<string, Indexer<T>>> = {}) {
    this.#indexes = new Map(Object.entries(indexers).map(([name, namesOf]) => [name, { namesOf, keys: new Map() }]));
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): T | undefined {
    return this.#entries.get(key)?.value;
  }

  entry(key: Key): Entry<T> | undefined {
    return this.#entries.get(key);
  }

  keys(): readonly Key[] {
    return [...this.#entries.keys()];
  }

  *values(): IterableIterator<T> {
    for (const entry of this.#entries.values()) yield entry.value;
  }

  by(index: string, name: string): readonly T[] {
    const keys = this.#index(index).keys.get(name) ?? [];
    return [...keys].flatMap((key) => this.get(key) ?? []);
  }

  namesIn(index: string): IterableIterator<string> {
    return this.#index(index).keys.keys();
  }

  set(key: Key, entry: Entry<T>): void {
    this.#unindex(key);
    this.#entries.set(key, entry);
    for (const { namesOf, keys } of this.#indexes.values()) {
      for (const name of namesOf(entry.value)) {
        const named = keys.get(name) ?? new Set();
        keys.set(name, named.add(key));
      }
    }
  }

  remove(key: Key): void {
    this.#unindex(key);
    this.#entries.delete(key);
  }

  #unindex(key: Key): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    for (const { namesOf, keys } of this.#indexes.values()) {
      for (const name of namesOf(entry.value)) {
        const named = keys.get(name);
        named?.delete(key);
        if (named?.size === 0) keys.delete(name);
      }
    }
  }

  #index(name: string): { readonly namesOf: Indexer<T>; readonly keys: Map<string, Set<Key>> } {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`the store has no index ${name}`);
    return index;
  }
}
