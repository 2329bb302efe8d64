import type { Key } from "../../api/object.ts";

/**
 * Pending reads of single objects: a watch event that arrives meanwhile is newer than the response.
 */
export class LiveReads {
  readonly #reads = new Set<{ readonly key: Key; isOvertaken: boolean }>();

  /**
   * Reads an object; undefined if a watch event arrived before the response. Rejects like `read`.
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

  /** Records a watch event of this object. */
  overtake(key: Key): void {
    for (const reading of this.#reads) reading.isOvertaken ||= reading.key === key;
  }
}
