import type { Key } from "../api/object.ts";

/**
 * Reads of single objects that are under way: what is told of an object meanwhile is later than
 * their answers.
 */
export class LiveReads {
  readonly #reads = new Set<{ readonly key: Key; isOvertaken: boolean }>();

  /**
   * Reads an object; undefined when something was told of it before the answer came. Rejects with
   * what `read` rejects with.
   */
  async read<T>(key: Key, read: () => Promise<T>): Promise<{ readonly answer: T } | undefined> {
    const reading = { key, isOvertaken: false };
    this.#reads.add(reading);
    try {
      const answer = await read();
      return reading.isOvertaken ? undefined : { answer };
    } finally {
      this.#reads.delete(reading);
    }
  }

  /** Something was told of this object. */
  overtake(key: Key): void {
    for (const reading of this.#reads) reading.isOvertaken ||= reading.key === key;
  }
}
