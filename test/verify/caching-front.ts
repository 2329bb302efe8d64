import type { ServerResponse } from "node:http";
import type { PassiveClock } from "../../src/runtime/clock.ts";
import type { Handler, HttpResponse } from "../../src/runtime/routes.ts";
import { type HttpsFront, startHttpsFront } from "../support/https-front.ts";

/** A server in front of an issuer; its CA is in PEM. */
export interface CachingFront extends HttpsFront {
  /** Number of responses from the cache. */
  hits(): number;
  /** Drops what is cached, as a cache may at any time. */
  forget(): void;
  /** The handler of the issuer, once it exists; 503 before. */
  handler: Handler | undefined;
}

interface Cached {
  readonly response: HttpResponse;
  /** Monotonic milliseconds. */
  readonly at: number;
}

/**
 * Starts an HTTPS server on 127.0.0.1 that keeps each response for its whole max-age and says its
 * age, like a CDN (RFC 9111, section 4.2).
 */
export async function startCachingFront(clock: PassiveClock): Promise<CachingFront> {
  const cache = new Map<string, Cached>();
  let hits = 0;
  const respond = async (target: string, outgoing: ServerResponse): Promise<Cached> => {
    const known = cache.get(target);
    if (known !== undefined && clock.monotonic() - known.at < maxAgeMs(known.response)) {
      hits += 1;
      return known;
    }
    const at = clock.monotonic();
    const [path = "", query = ""] = target.split("?");
    const onClose = (listener: () => void) => void outgoing.once("close", listener);
    const request = { method: "GET", path, body: "", query, onClose };
    const response =
      (await front.handler?.(request, { clientName: undefined, address: "192.0.2.1" })) ??
      unavailable;
    const fetched = { response, at };
    cache.set(target, fetched);
    return fetched;
  };
  const https = await startHttpsFront(
    ({ url = "", headers }, outgoing) =>
      void respond(url, outgoing).then(({ response: { status, headers: sent, body }, at }) => {
        const age = `${Math.floor((clock.monotonic() - at) / 1000)}`;
        const isKnown = sent["etag"] !== undefined && headers["if-none-match"] === sent["etag"];
        outgoing.writeHead(isKnown ? 304 : status, { ...sent, age }).end(isKnown ? "" : body);
      }),
  );
  const front: CachingFront = {
    ...https,
    handler: undefined,
    hits: () => hits,
    forget: () => cache.clear(),
  };
  return front;
}

const unavailable: HttpResponse = { status: 503, headers: {}, body: "" };

function maxAgeMs({ headers }: HttpResponse): number {
  return Number(/max-age=(\d+)/.exec(headers["cache-control"] ?? "")?.[1] ?? 0) * 1000;
}
