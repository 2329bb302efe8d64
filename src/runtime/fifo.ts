/** A first-in, first-out list whose `shift` takes constant time on average. */
export class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  /** Number of items. */
  get size(): number {
    return this.#items.length - this.#head;
  }

  /** The item that `shift` would return. */
  get first(): T | undefined {
    return this.#items[this.#head];
  }

  /** Appends an item. */
  push(item: T): void {
    this.#items.push(item);
  }

  /** Removes and returns the first item; undefined if there is none. */
  shift(): T | undefined {
    const item = this.#items[this.#head];
    if (this.#head < this.#items.length) this.#head++;
    if (this.#head * 2 > this.#items.length) this.#compact();
    return item;
  }

  /** Removes and returns all items, in order. */
  drain(): readonly T[] {
    const items = this.#items.slice(this.#head);
    this.#items = [];
    this.#head = 0;
    return items;
  }

  #compact(): void {
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
  }
}
