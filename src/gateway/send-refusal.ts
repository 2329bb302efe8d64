import {
  discoveryWarning,
  type Refusal,
  type RefusalCause,
  statusObject,
} from "../domain/gateway/refusal.ts";
import type { Timers } from "../runtime/clock.ts";
import type { Exchange, UpgradeExchange } from "../runtime/exchange.ts";
import { closeAnswered, headText } from "./upgrade-answer.ts";

/** Causes that leave open where the next request of a connection begins. */
const ambiguousCauses: readonly RefusalCause[] = ["malformed", "method"];

/** Longest wait for a client that wants an upgrade and does not read its refusal. */
const unreadMs = 10_000;

/** Answers with a Status object; aborts an answer that has begun. */
export function sendRefusal(exchange: Exchange, refused: Refusal): void {
  if (exchange.hasResponded) return exchange.abort();
  const body = Buffer.from(`${JSON.stringify(statusObject(refused))}\n`);
  if (ambiguousCauses.includes(refused.cause)) exchange.closeAfterResponse();
  const warning = Object.entries(discoveryWarning(exchange.head.target, refused)).flat();
  exchange.respond(refused.status, [...refusalHeaders(refused, body.length), ...warning]);
  if (exchange.head.method !== "HEAD") exchange.write(body);
  exchange.end();
}

/** Answers a request for an upgrade with a Status object, and ends the connection. */
export function sendUpgradeRefusal(
  { head, socket }: UpgradeExchange,
  refused: Refusal,
  clock: Timers,
): void {
  const body = Buffer.from(`${JSON.stringify(statusObject(refused))}\n`);
  const headers = [...refusalHeaders(refused, body.length), "connection", "close"];
  socket.on("error", () => {});
  socket.write(headText(refused.status, headers));
  if (head.method !== "HEAD") socket.write(body);
  socket.once(
    "close",
    clock.wakeAfter(unreadMs, () => socket.destroy()),
  );
  closeAnswered(socket, clock);
}

/** The headers of a refusal with a body of so many bytes. */
function refusalHeaders({ headers = {} }: Refusal, length: number): readonly string[] {
  return [
    ...["content-type", "application/json"],
    ...["content-length", String(length)],
    ...["cache-control", "no-cache, private"],
    ...Object.entries(headers).flat(),
  ];
}
