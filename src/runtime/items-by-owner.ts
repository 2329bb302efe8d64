/**
 * Items of owners, each in the order in which they came, so that a full server finds which one to
 * displace: an item of the owner that has the most of them.
 */
export class ItemsByOwner<T> {
  readonly #byOwner = new Map<string, Set<T>>();
  #size = 0;

  /** Number of items of all owners. */
  get size(): number {
    return this.#size;
  }

  /** Number of items of an owner. */
  countOf(owner: string): number {
    return this.#byOwner.get(owner)?.size ?? 0;
  }

  /** Adds an item that is not there yet. */
  add(owner: string, item: T): void {
    const items = this.#byOwner.get(owner);
    if (items === undefined) this.#byOwner.set(owner, new Set([item]));
    else items.add(item);
    this.#size += 1;
  }

  /** Removes an item; false if it is not there. */
  remove(owner: string, item: T): boolean {
    const items = this.#byOwner.get(owner);
    if (items?.delete(item) !== true) return false;
    if (items.size === 0) this.#byOwner.delete(owner);
    this.#size -= 1;
    return true;
  }

  /** The items of the owner that has the most, oldest first; empty if there is no item at all. */
  ofLargestOwner(): ReadonlySet<T> {
    let largest: ReadonlySet<T> = none;
    for (const items of this.#byOwner.values()) if (items.size > largest.size) largest = items;
    return largest;
  }
}

const none: ReadonlySet<never> = new Set();
