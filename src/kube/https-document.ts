import { Pool } from "undici";

/** A document of another server; `text` is undefined if it is the one with the given tag. */
export interface FetchedDocument {
  readonly bytes: Uint8Array | undefined;
  readonly etag: string | undefined;
}

/** Where a document is, and how much of it is read. */
export interface HttpsDocumentOptions {
  readonly url: string;
  /** CA certificates (PEM) that the server's certificate must come from; undefined: public CAs. */
  readonly ca: string | undefined;
  readonly mostBytes: number;
  readonly timeoutMs: number;
}

/** A document could not be read; the message names status or code, and nothing of the document. */
export class HttpsDocumentError extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = "HttpsDocumentError";
  }
}

/** Reads a document over HTTPS; follows no redirect, and uses no proxy. */
export class HttpsDocument {
  readonly #pool: Pool;
  readonly #path: string;
  readonly #options: HttpsDocumentOptions;

  constructor(options: HttpsDocumentOptions) {
    const { origin, pathname, search } = new URL(options.url);
    this.#options = options;
    this.#path = pathname + search;
    this.#pool = new Pool(origin, {
      ...{ connections: 1, allowH2: false, pipelining: 1 },
      connect: { timeout: options.timeoutMs, ...(options.ca !== undefined && { ca: options.ca }) },
      headersTimeout: options.timeoutMs,
      bodyTimeout: options.timeoutMs,
    });
  }

  /** Reads the document unless it still has this tag (RFC 9110, section 13.1.2). */
  async fetch(etag?: string): Promise<FetchedDocument> {
    const { mostBytes, timeoutMs } = this.#options;
    try {
      const { statusCode, headers, body } = await this.#pool.request({
        method: "GET",
        path: this.#path,
        headers: {
          accept: "application/json",
          ...(etag !== undefined && { "if-none-match": etag }),
        },
        signal: AbortSignal.timeout(timeoutMs),
      });
      const chunks: Uint8Array[] = [];
      let length = 0;
      for await (const chunk of body) {
        chunks.push(chunk);
        length += chunk.length;
        if (length > mostBytes) throw new HttpsDocumentError(`more than ${mostBytes} bytes`);
      }
      const tag = typeof headers.etag === "string" ? headers.etag : undefined;
      if (statusCode === 304 && etag !== undefined) return { bytes: undefined, etag };
      if (statusCode !== 200) throw new HttpsDocumentError(`status ${statusCode}`);
      return { bytes: Buffer.concat(chunks), etag: tag };
    } catch (error) {
      if (error instanceof HttpsDocumentError) throw error;
      throw new HttpsDocumentError(codeOf(error));
    }
  }

  /** Closes the connection. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "no response";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
