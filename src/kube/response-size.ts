/**
 * Maximum size of a response of the cluster that Latchkey runs in, or that a user of the CLI names.
 * Lists are streamed, or read in pages that become smaller when they are too large; an object has at
 * most 9 MiB (etcd takes 1.5 MiB, and JSON has six bytes for a character such as `<`).
 */
export const mostOwnResponseBytes = 64 * 1024 * 1024;

/** A response has more bytes than it may have; it was not read to its end. */
export class ResponseTooLarge extends Error {
  constructor(mostBytes: number) {
    super(`the response is larger than ${mostBytes} bytes`);
    this.name = "ResponseTooLarge";
  }
}
