import { Fifo } from "../../runtime/fifo.ts";

/** Requests up to this size never wait, so that large requests do not block small ones. */
const smallBytes = 64 * 1024;

interface Waiting {
  readonly bytes: number;
  readonly enter: () => void;
}

/**
 * Limits the bytes of request and response bodies in memory. Large requests start in FIFO order;
 * one above the whole limit starts when no other large request is running.
 */
export class BodyLimiter {
  readonly #limit: number;
  readonly #waiting = new Fifo<Waiting>();
  #bytes = 0;
  #bigInside = 0;

  /** `limit` is in bytes. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs `work` as soon as the limit permits `bytes` more. */
  async within<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    if (bytes > smallBytes && (this.#waiting.size > 0 || !this.#hasRoom(bytes)))
      await new Promise<void>((enter) => this.#waiting.push({ bytes, enter }));
    else this.#admit(bytes);
    try {
      return await work();
    } finally {
      this.#bytes -= bytes;
      if (bytes > smallBytes) this.#bigInside -= 1;
      this.#admitWaiting();
    }
  }

  #hasRoom(bytes: number): boolean {
    return this.#bigInside === 0 || this.#bytes + bytes <= this.#limit;
  }

  #admit(bytes: number): void {
    this.#bytes += bytes;
    if (bytes > smallBytes) this.#bigInside += 1;
  }

  #admitWaiting(): void {
    for (
      let next = this.#waiting.first;
      next !== undefined && this.#hasRoom(next.bytes);
      next = this.#waiting.first
    ) {
      this.#waiting.shift();
      this.#admit(next.bytes);
      next.enter();
    }
  }
}
