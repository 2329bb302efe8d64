import { Pool } from "undici";
import { ByteCollector } from "../../runtime/byte-collector.ts";
import type { Clock } from "../../runtime/clock.ts";
import { reasonOf } from "../../runtime/failure-reason.ts";
import type { ProxyOf } from "../credentials/proxies.ts";
import { readHeaders } from "./exchange.ts";
import { foreignDocument } from "./foreign-answer.ts";
import { createTlsConnector } from "./tls-connector.ts";

/** A document of another server; `bytes` is undefined if it is the one that the request names. */
export interface FetchedDocument {
  readonly bytes: Uint8Array | undefined;
  readonly etag: string | undefined;
}

/** Where a document is, and how much of it is read. */
export interface HttpsDocumentOptions {
  readonly url: string;
  /** The media type to ask for; default: JSON. */
  readonly accept?: string;
  /**
   * Returns the CA certificates (PEM) that the server's certificate must come from, which may
   * change; undefined: public CAs.
   */
  readonly ca: (() => string) | undefined;
  readonly mostBytes: number;
  /** Maximum time to the end of the document. */
  readonly timeoutMs: number;
  /** Maximum time to connect; default: that of the whole request. */
  readonly connectTimeoutMs?: number;
  readonly clock: Clock;
  readonly proxyOf: ProxyOf;
}

/**
 * What the client already has, by tag (RFC 9110, section 13.1.2) or by a parameter of the server.
 */
export interface FetchOptions {
  readonly etag?: string | undefined;
  /** Replaces the query of the URL. */
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** Ends the request early. */
  readonly signal?: AbortSignal;
}

/** A document could not be read; the message names status or code, and nothing of the document. */
export class HttpsDocumentError extends Error {
  readonly isTooLarge: boolean;

  constructor(problem: string, { isTooLarge = false } = {}) {
    super(problem);
    this.name = "HttpsDocumentError";
    this.isTooLarge = isTooLarge;
  }
}

/** Reads a document over HTTPS; follows no redirect. */
export class HttpsDocument {
  readonly #url: URL;
  readonly #options: HttpsDocumentOptions;
  #ca: string | undefined;
  #pool: Pool;

  constructor(options: HttpsDocumentOptions) {
    this.#options = options;
    this.#url = new URL(options.url);
    this.#ca = options.ca?.();
    this.#pool = this.#open();
  }

  /** The pool that trusts the CAs of now; a former one closes once its request is over. */
  #current(): Pool {
    const ca = this.#options.ca?.();
    if (ca === this.#ca) return this.#pool;
    void this.#pool.close();
    this.#ca = ca;
    return (this.#pool = this.#open());
  }

  #open(): Pool {
    const { url, clock, proxyOf, timeoutMs, connectTimeoutMs = timeoutMs } = this.#options;
    const ca = this.#ca;
    return new Pool(this.#url.origin, {
      connections: 1,
      pipelining: 1,
      connect: createTlsConnector({
        tls: { ...(ca !== undefined && { ca }), rejectUnauthorized: true },
        proxy: proxyOf(url),
        clock,
        timeout: connectTimeoutMs,
      }),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
  }

  /**
   * Reads the document. Only a request that names what the client has may be answered with 304,
   * which is a document without bytes. Rejects only with an HttpsDocumentError.
   */
  async fetch({ etag, query, signal }: FetchOptions = {}): Promise<FetchedDocument> {
    const { accept = "application/json", timeoutMs } = this.#options;
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const { statusCode, headers, body } = await this.#current().request({
        method: "GET",
        path: this.#path(query),
        headers: { accept, ...(etag !== undefined && { "if-none-match": etag }) },
        signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
      });
      const bytes = await this.#read(body);
      const origin = { host: this.#url.host, ...readHeaders(headers) };
      const tag = typeof headers.etag === "string" ? headers.etag : undefined;
      const isConditional = etag !== undefined || query !== undefined;
      if (statusCode === 304 && isConditional) return { bytes: undefined, etag };
      const foreign = foreignDocument({ status: statusCode, text: beginningOf(bytes), origin });
      if (foreign !== undefined) throw new HttpsDocumentError(foreign);
      return { bytes, etag: tag };
    } catch (error) {
      if (error instanceof HttpsDocumentError) throw error;
      throw new HttpsDocumentError(reasonOf(error));
    }
  }

  /** Closes the connection. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }

  #path(query: FetchOptions["query"]): string {
    const { pathname, search } = this.#url;
    if (query === undefined) return pathname + search;
    return `${pathname}?${new URLSearchParams(query).toString()}`;
  }

  async #read(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
    const { mostBytes } = this.#options;
    const bytes = new ByteCollector(mostBytes);
    for await (const part of body)
      if (!bytes.add(part))
        throw new HttpsDocumentError(`more than ${mostBytes} bytes`, { isTooLarge: true });
    return bytes.take();
  }
}

/** Enough to recognize a page. */
function beginningOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, 64)).toString("latin1");
}
