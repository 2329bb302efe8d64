import { type Refusal, type RefusalCause, statusObject } from "../domain/gateway/refusal.ts";
import type { Exchange } from "../runtime/exchange.ts";

/** Causes that leave open where the next request of a connection begins. */
const ambiguousCauses: readonly RefusalCause[] = ["malformed", "method"];

/** Answers with a Status object; aborts an answer that has begun. */
export function sendRefusal(exchange: Exchange, refused: Refusal): void {
  if (exchange.hasResponded) return exchange.abort();
  const body = Buffer.from(`${JSON.stringify(statusObject(refused))}\n`);
  if (ambiguousCauses.includes(refused.cause)) exchange.closeAfterResponse();
  exchange.respond(refused.status, [...refusalHeaders(refused, body.length)]);
  if (exchange.head.method !== "HEAD") exchange.write(body);
  exchange.end();
}

/** The headers of a refusal with a body of so many bytes. */
export function refusalHeaders({ headers = {} }: Refusal, length: number): readonly string[] {
  return [
    ...["content-type", "application/json"],
    ...["content-length", String(length)],
    ...["cache-control", "no-cache, private"],
    ...Object.entries(headers).flat(),
  ];
}
