import { Pool } from "undici";
import type { Clock } from "../../runtime/clock.ts";
import { reasonOf } from "../../runtime/failure-reason.ts";
import { errorCode } from "../../runtime/read-text-file.ts";
import type { RequestMetrics } from "../../runtime/work-metrics.ts";
import { AdaptiveLimiter } from "./adaptive-limiter.ts";
import type { BodyLimiter } from "./body-limiter.ts";
import { type Credentials, CredentialsError } from "../credentials/credentials.ts";
import { answerOfFailure, answerOfStatus } from "../credentials/server-answers.ts";
import { CurrentPools } from "./current-pools.ts";
import type { AnswerOrigin } from "./foreign-answer.ts";
import { bodySize, encodeBody } from "./request-body.ts";
import { KubeError, networkError } from "./kube-error.ts";
import {
  exchange,
  InformationalResponses,
  type LargeResponses,
  type ReadHeaders,
  readHeaders,
  readRefusal,
  ResponseTooLarge,
} from "./exchange.ts";
import type { Yielder } from "../../runtime/yielder.ts";

/** A request to the API server; `path` is encoded and relative to the path prefix of the server. */
export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: unknown;
  /**
   * Estimated bytes of the response to a single request; default: the size of the body for POST and
   * PUT, else 0.
   */
  readonly responseBytes?: number;
  /** Ends a stream; single requests have their own timeout. */
  readonly signal?: AbortSignal;
}

/** A complete response; the body is not parsed. */
export interface ApiResponse {
  readonly status: number;
  readonly retryAfterMs?: number;
  readonly text: string;
  readonly origin?: AnswerOrigin;
  /** The parsed text of a large response; undefined if it is small or not JSON. */
  readonly json?: unknown;
}

/** The response to a stream that the API server has opened, whose body is still arriving. */
export interface StreamingResponse {
  readonly status: 200;
  readonly chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/**
 * Sends single requests to the API server. Rejects with a KubeError `Network` or `Fenced`; a
 * response with any HTTP status resolves.
 */
export interface RoundTripper {
  request(call: ApiRequest): Promise<ApiResponse>;
}

/** Sends requests, and opens streams. */
export interface Transport extends RoundTripper {
  /** Resolves to a complete response if the API server does not open the stream. */
  stream(call: ApiRequest): Promise<StreamingResponse | ApiResponse>;
  close(): Promise<void>;
}

/** Options of a transport. */
export interface TransportOptions {
  readonly credentials: Credentials;
  readonly clock: Clock;
  /** Limits the bodies of single requests and their responses; transports may share one. */
  readonly bodies?: BodyLimiter;
  /** Yields between the encodings of large bodies. */
  readonly yielder?: Pick<Yielder, "run">;
  /** Maximum number of connections for single requests, and so of concurrent requests. */
  readonly connections: number;
  /** Maximum duration of a single request. */
  readonly timeoutMs: number;
  /** Maximum size of the response to a single request; a larger one is a `Network` error. */
  readonly mostBytes: number;
  /** Limits the large responses in memory; transports may share it. */
  readonly large?: LargeResponses;
  /** Milliseconds until the process must stop writing; absent without leader election. */
  readonly fence?: () => number;
  readonly metrics?: RequestMetrics;
  /**
   * Called with the maximum number of concurrent requests, which is lower after responses with
   * status 429.
   */
  readonly onLimit?: (limit: number) => void;
}

/**
 * How long an idle connection is kept. A request over a connection that died while idle fails only
 * after its whole timeout, so idle connections are closed long before that, although a TLS
 * handshake costs more than ten requests.
 */
const idleConnectionMs = 5_000;

/** Bodies of this size take a millisecond or more to encode. */
const bigBytes = 128 * 1024;

/** Creates a transport over keep-alive HTTP/1.1, with one pool for requests and one for watches. */
export function createTransport(options: TransportOptions): Transport {
  return new PooledTransport(options);
}

class PooledTransport implements Transport {
  readonly #options: TransportOptions;
  readonly #server: CurrentPools<{ readonly requests: Pool; readonly watches: Pool }>;
  readonly #limiter: AdaptiveLimiter<ApiResponse>;

  constructor(options: TransportOptions) {
    const { credentials, connections, clock, onLimit } = options;
    this.#options = options;
    this.#server = new CurrentPools({
      credentials,
      clock,
      open({ origin, connect }) {
        const shared = { keepAliveTimeout: idleConnectionMs, connect };
        return {
          requests: new Pool(origin, { ...shared, connections, pipelining: 1 }),
          watches: new Pool(origin, { ...shared, connections: null, bodyTimeout: 0 }),
        };
      },
    });
    this.#limiter = new AdaptiveLimiter<ApiResponse>({
      limit: connections,
      clock,
      retryAfter: asksToWait,
      ...(onLimit === undefined ? {} : { onLimit }),
    });
  }

  request(call: ApiRequest): Promise<ApiResponse> {
    return this.#observed(call, () =>
      this.#limiter.run(() =>
        this.#withinBudget(call, () => this.#authorized(() => this.#send(call))),
      ),
    );
  }

  stream(call: ApiRequest): Promise<StreamingResponse | ApiResponse> {
    return this.#observed(call, () => this.#authorized(() => this.#open(call)));
  }

  async close(): Promise<void> {
    await this.#server.close();
  }

  async #send(call: ApiRequest): Promise<ApiResponse> {
    const body = call.body === undefined ? null : await this.#encoded(call.body);
    const authorization = await this.#options.credentials.authorization();
    // Checked after encoding the body and reading the credential, which may take long.
    const allowedMs = timeAllowed(call, this.#options);
    const { clock, mostBytes, large, metrics } = this.#options;
    const began = clock.monotonic();
    const { pools, prefix } = this.#server.current();
    const { status, text, ...headers } = await exchange(
      pools.requests,
      {
        method: call.method,
        path: prefix + call.path,
        headers: headersOf(call, authorization),
        body,
      },
      // Checked again then: a process that was suspended meanwhile may not hold the Lease any more.
      {
        clock,
        allowedMs,
        mostBytes,
        large,
        onWrite: () => void timeAllowed(call, this.#options),
      },
    ).finally(() => metrics?.took(call.method, (clock.monotonic() - began) / 1000));
    const retryAfterMs = Number(headers.retryAfter) * 1000;
    return {
      status,
      text,
      origin: this.#originOf(headers),
      ...(await this.#parsed(text)),
      ...(retryAfterMs > 0 ? { retryAfterMs } : {}),
    };
  }

  async #open(call: ApiRequest): Promise<StreamingResponse | ApiResponse> {
    const authorization = await this.#options.credentials.authorization();
    const stop = new AbortController();
    const informational = new InformationalResponses();
    const { pools, prefix } = this.#server.current();
    const { statusCode, headers, body } = await pools.watches.request({
      method: call.method,
      path: prefix + call.path,
      headers: headersOf(call, authorization),
      signal: call.signal === undefined ? stop.signal : AbortSignal.any([call.signal, stop.signal]),
      onInfo() {
        const failure = informational.next();
        if (failure !== undefined) stop.abort(failure);
      },
    });
    const origin = this.#originOf(readHeaders(headers));
    const isOpen = statusCode === 200 && !/^text\/html/i.test(origin.contentType ?? "");
    if (isOpen) return { status: statusCode, chunks: body };
    // Read at once; otherwise its socket would stay open.
    return { status: statusCode, text: await readRefusal(body, this.#options), origin };
  }

  #originOf({ contentType, location }: ReadHeaders): AnswerOrigin {
    return { host: this.#server.current().host, contentType, location };
  }

  /** Encodes a small body at once, and a large one in a turn of the yielder. */
  async #encoded(body: unknown): Promise<string> {
    const { yielder } = this.#options;
    return yielder === undefined || bodySize(body) < bigBytes
      ? encodeBody(body)
      : yielder.run(() => encodeBody(body));
  }

  /** Parses a large response in a turn of the yielder: several may have arrived at once. */
  async #parsed(text: string): Promise<{ readonly json?: unknown }> {
    const { yielder } = this.#options;
    if (yielder === undefined || text.length < bigBytes) return {};
    return yielder.run(() => {
      try {
        const json: unknown = JSON.parse(text);
        return { json };
      } catch {
        return {};
      }
    });
  }

  #withinBudget<T>(call: ApiRequest, work: () => Promise<T>): Promise<T> {
    return this.#options.bodies === undefined
      ? work()
      : this.#options.bodies.within(bytesOf(call), work);
  }

  /**
   * Retries once after a 401, which means that the request had no effect, with a credential that is
   * read again.
   */
  async #authorized<T extends { readonly status: number }>(attempt: () => Promise<T>): Promise<T> {
    const first = await attempt();
    if (first.status !== 401) return first;
    this.#options.credentials.forget();
    return attempt();
  }

  async #observed<T extends { readonly status: number }>(
    call: ApiRequest,
    work: () => Promise<T>,
  ): Promise<T> {
    const { metrics, credentials } = this.#options;
    try {
      const answer = await work();
      metrics?.ended({ method: call.method, code: String(answer.status) });
      credentials.noteAnswer?.(answerOfStatus(answer.status));
      return answer;
    } catch (error) {
      if (error instanceof KubeError) throw error;
      metrics?.ended({ method: call.method, code: "<error>" });
      credentials.noteAnswer?.(answerOfFailure(errorCode(error), problemOf(error)));
      throw failure(call, error);
    }
  }
}

/** Estimated bytes of the bodies of a request and its response. */
function bytesOf({ method, body, responseBytes }: ApiRequest): number {
  const sent = body === undefined ? 0 : bodySize(body);
  return sent + (responseBytes ?? (method === "POST" || method === "PUT" ? sent : 0));
}

const overload = { defaultMs: 1_000, longestMs: 60_000 } as const;

/**
 * The Retry-After of a 429 in milliseconds, at most 60 s; undefined for other statuses (API
 * Priority and Fairness; RFC 6585, section 4).
 */
function asksToWait({
  status,
  retryAfterMs = overload.defaultMs,
}: ApiResponse): number | undefined {
  return status === 429 ? Math.min(retryAfterMs, overload.longestMs) : undefined;
}

/** Maximum duration of a request in milliseconds; throws `Fenced` when it must not be sent. */
function timeAllowed({ method, path }: ApiRequest, { fence, timeoutMs }: TransportOptions): number {
  if (fence === undefined || method === "GET") return timeoutMs;
  const leftMs = fence();
  if (leftMs <= 0)
    throw new KubeError(`${method} ${path}: not sent, this process does not hold the Lease`, {
      code: "Fenced",
      status: 0,
    });
  return Math.min(timeoutMs, leftMs);
}

function headersOf(call: ApiRequest, authorization: string | undefined): Record<string, string> {
  return {
    accept: call.accept ?? "application/json",
    "user-agent": "latchkey",
    ...(authorization === undefined ? {} : { authorization }),
    ...(call.body === undefined ? {} : { "content-type": call.contentType ?? "application/json" }),
  };
}

function failure(call: ApiRequest, error: unknown): KubeError {
  const isResponseTooLarge = error instanceof ResponseTooLarge;
  return networkError(call, problemOf(error), { isResponseTooLarge });
}

function problemOf(error: unknown): string {
  if (error instanceof CredentialsError) return error.problem;
  return reasonOf(error);
}
