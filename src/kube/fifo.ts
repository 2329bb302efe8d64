/** A first-in, first-out list whose `shift` takes constant time on average. */
export class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  /** How many items are inside. */
  get size(): number {
    return this.#items.length - this.#head;
  }

  /** The item that `shift` would take out. */
  get first(): T | undefined {
    return this.#items[this.#head];
  }

  /** Puts an item last. */
  push(item: T): void {
    this.#items.push(item);
  }

  /** Takes the first item out; undefined when there is none. */
  shift(): T | undefined {
    const item = this.#items[this.#head];
    if (this.#head < this.#items.length) this.#head++;
    if (this.#head * 2 > this.#items.length) this.#compact();
    return item;
  }

  /** Takes all items out, in order. */
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
