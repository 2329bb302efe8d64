import type { Writable } from "node:stream";

/** A body that is written for as long as its reader takes it. */
export interface EndlessBody {
  /** Bytes that were given to the socket: what the reader took, and what is in buffers. */
  readonly written: () => number;
  /** Resolves when the reader has closed the connection. */
  readonly closed: Promise<void>;
}

const mib = 1024 * 1024;
/** A reader without a bound gets an end here, so that its test fails instead of hanging. */
const longest = 256 * mib;
/** What the buffers of two sockets of this machine take. */
export const mostBuffered = 24 * mib;

/** Writes `block` again and again. */
export function writeEndlessly(to: Writable, block: string): EndlessBody {
  const bytes = Buffer.from(block.repeat(Math.ceil((64 * 1024) / block.length)));
  let written = 0;
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  to.once("close", resolve);
  to.on("error", () => {});
  const go = (): void => {
    while (!to.destroyed && written < longest) {
      written += bytes.length;
      if (!to.write(bytes)) return void to.once("drain", go);
    }
    if (!to.destroyed) to.end();
  };
  go();
  return { written: () => written, closed };
}
