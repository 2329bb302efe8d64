/**
 * Collects the parts of a body in one buffer, up to a maximum number of bytes. The parts themselves
 * are not kept: one of a single byte takes a hundred, and may hold the 64 KiB that it was read
 * with.
 */
export class ByteCollector {
  readonly #mostBytes: number;
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Number of collected bytes. */
  get length(): number {
    return this.#length;
  }

  /** Adds a part; returns false, and adds nothing, if that would exceed the maximum. */
  add(part: Uint8Array): boolean {
    const length = this.#length + part.length;
    if (length > this.#mostBytes) return false;
    if (length > this.#buffer.length) this.#grow(length);
    this.#buffer.set(part, this.#length);
    this.#length = length;
    return true;
  }

  /** The collected bytes; the collector is empty afterwards. */
  take(): Buffer {
    const bytes = this.#buffer.subarray(0, this.#length);
    this.#buffer = Buffer.alloc(0);
    this.#length = 0;
    return bytes;
  }

  #grow(length: number): void {
    const doubled = Math.min(2 * this.#buffer.length, this.#mostBytes);
    const grown = Buffer.allocUnsafe(Math.max(length, doubled));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
  }
}
