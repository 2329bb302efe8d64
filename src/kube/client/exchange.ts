import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { ByteCollector } from "../../runtime/byte-collector.ts";
import type { Cancel, Clock } from "../../runtime/clock.ts";
import type { FairShares, Share, Sharer } from "../../runtime/fair-shares.ts";

/**
 * Maximum size of a response of the cluster that Latchkey runs in, or that a user of the CLI names.
 * Lists are streamed, or read in pages that become smaller when they are too large; an object has
 * at most 9 MiB (etcd takes 1.5 MiB, and JSON has six bytes for a character such as `<`).
 */
export const mostOwnResponseBytes = 64 * 1024 * 1024;

/** A response has more bytes than it may have; it was not read to its end. */
export class ResponseTooLarge extends Error {
  constructor(mostBytes: number) {
    super(`the response is larger than ${mostBytes} bytes`);
    this.name = "ResponseTooLarge";
  }
}

/** A request whose body is encoded; `path` is complete. */
interface EncodedRequest {
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | null;
}

/** The headers of a response that are read. */
export interface ReadHeaders {
  readonly contentType: string | undefined;
  readonly location: string | undefined;
  readonly retryAfter: string | undefined;
}

/** A complete response. */
interface CompleteResponse extends ReadHeaders {
  readonly status: number;
  readonly text: string;
}

/**
 * The large responses in memory: one of more than `fromBytes` waits for its share before the rest
 * of it is read.
 */
export interface LargeResponses {
  readonly fromBytes: number;
  readonly shares: FairShares;
  readonly sharer: Sharer;
}

/** Limits of an exchange. */
interface ExchangeOptions {
  readonly clock: Clock;
  /** Maximum duration in milliseconds, including the wait for a connection. */
  readonly allowedMs: number;
  /** Maximum size of the body of the response; undici bounds its headers to 16 KiB. */
  readonly mostBytes: number;
  /** Absent if the large responses of the server are not limited together. */
  readonly large?: LargeResponses | undefined;
  /**
   * Called when the request is written to its socket: undici keeps it waiting for a connection, and
   * on an idle one for an iteration of the event loop. An error ends the exchange.
   */
  readonly onWrite: () => void;
}

/**
 * Sends a request and collects its response; rejects with the error of undici or of `onWrite`, with
 * a ResponseTooLarge, or when the time has passed. undici's own `request` makes a stream of each
 * response and needs a signal for each timeout; a small response needs neither.
 */
export function exchange(
  dispatcher: Pick<Dispatcher, "dispatch">,
  request: EncodedRequest,
  options: ExchangeOptions,
): Promise<CompleteResponse> {
  const handler = new ResponseHandler(options);
  // Otherwise undici closes the connection after every DELETE that has a body.
  dispatcher.dispatch({ ...request, reset: false }, handler);
  return handler.response;
}

const mostInformational = 16;

/** Counts informational responses (RFC 9110, section 15.2), of which API servers send none. */
export class InformationalResponses {
  #count = 0;

  /** Counts one; the error of a peer that sends too many of them. */
  next(): Error | undefined {
    this.#count += 1;
    if (this.#count <= mostInformational) return undefined;
    return new Error(`more than ${mostInformational} informational responses`);
  }
}

class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions;
  readonly #outcome = Promise.withResolvers<CompleteResponse>();
  readonly #body: ByteCollector;
  readonly #stopClock: Cancel;
  #status = 0;
  #headers: ReadHeaders = readHeaders({});
  readonly #informational = new InformationalResponses();
  #controller: Dispatcher.DispatchController | undefined;
  /** Why the exchange ended before its response. */
  #failure: Error | undefined;
  /** That of a large response; undefined while the response is small. */
  #share: Share | undefined;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#body = new ByteCollector(options.mostBytes);
    this.#stopClock = options.clock.wakeAfter(options.allowedMs, () =>
      this.#fail(new Error("the response is late")),
    );
  }

  get response(): Promise<CompleteResponse> {
    return this.#outcome.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure === undefined) this.#options.onWrite();
    else controller.abort(this.#failure);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) {
      const failure = this.#informational.next();
      if (failure !== undefined) this.#fail(failure);
      return;
    }
    [this.#status, this.#headers] = [status, readHeaders(headers)];
    const { mostBytes } = this.#options;
    if (Number(firstOf(headers["content-length"])) > mostBytes)
      this.#fail(new ResponseTooLarge(mostBytes));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#failure !== undefined) return;
    const { mostBytes, large } = this.#options;
    if (!this.#body.add(chunk)) return this.#fail(new ResponseTooLarge(mostBytes));
    if (large === undefined || this.#share !== undefined || this.#body.length <= large.fromBytes)
      return;
    this.#share = large.shares.ask(large.sharer, 1);
    this.#share.enter(() => controller.resume());
    if (this.#share.isWaiting) controller.pause();
  }

  onResponseEnd(): void {
    this.#release();
    const text = this.#body.take().toString("utf8");
    this.#outcome.resolve({ status: this.#status, ...this.#headers, text });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#release();
    this.#outcome.reject(error);
  }

  #fail(failure: Error): void {
    this.#failure = failure;
    this.#release();
    this.#body.take();
    this.#outcome.reject(failure);
    this.#controller?.abort(failure);
  }

  #release(): void {
    this.#stopClock();
    this.#share?.end();
  }
}

/** The headers of a response that are read, each once. */
export function readHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): ReadHeaders {
  return {
    contentType: firstOf(headers["content-type"]),
    location: firstOf(headers["location"]),
    retryAfter: firstOf(headers["retry-after"]),
  };
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** How much is read of the body of a refused stream; a metav1.Status has a few hundred bytes. */
const mostRefusalBytes = 1024 * 1024;

/**
 * Reads the body of a refused stream: 1 MiB of it, or what arrives in `timeoutMs` milliseconds.
 * Rejects if the connection breaks.
 */
export async function readRefusal(
  body: Pick<Readable, "destroy"> & AsyncIterable<Uint8Array>,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<string> {
  const text = new ByteCollector(mostRefusalBytes);
  let isLate = false;
  const stopClock = clock.wakeAfter(timeoutMs, () => {
    isLate = true;
    body.destroy();
  });
  try {
    for await (const part of body) if (!text.add(part)) break;
  } catch (error) {
    if (!isLate) throw error;
  } finally {
    stopClock();
  }
  return text.take().toString("utf8");
}
