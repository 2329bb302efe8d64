import type { IncomingMessage, ServerResponse } from "node:http";
import { hasBody } from "./body.ts";
import type { Connection } from "./connections.ts";
import type { Exchange, ExchangeHead } from "./exchange.ts";
import type { UnreadAnswers } from "./unread-answers.ts";

/** The head of a request over HTTP/1.x. */
export function http1Head(incoming: IncomingMessage, isUpgrade: boolean): ExchangeHead {
  return {
    method: incoming.method ?? "",
    target: incoming.url ?? "",
    rawHeaders: incoming.rawHeaders,
    httpVersion: incoming.httpVersion === "1.1" ? "1.1" : "1.0",
    isUpgrade,
    peerAddress: incoming.socket.remoteAddress ?? "",
  };
}

/** What an exchange over HTTP/1.1 needs beside its two messages. */
interface Http1Terms {
  readonly connection: Connection;
  /** Whether the client waits for `100 Continue`. */
  readonly expectsContinue: boolean;
  /** Whether the connection ends with this answer. */
  readonly isClosing: () => boolean;
  readonly unread: UnreadAnswers;
}

/** An exchange over HTTP/1.1. */
export function http1Exchange(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { connection, expectsContinue, isClosing, unread }: Http1Terms,
): Exchange {
  const request = connection.began();
  outgoing.once("close", () => request.closed());
  let isOver = false;
  let isDistrusted = false;
  let hasBegun = false;
  outgoing.sendDate = false;
  // Without a listener, an error would end the process.
  outgoing.on("error", () => {});
  return {
    head: http1Head(incoming, false),
    body: incoming,
    isBodyCut: () => !incoming.complete,
    get hasResponded() {
      return outgoing.headersSent;
    },
    accepted: (user) => request.accepted(user),
    acceptBody() {
      if (expectsContinue) outgoing.writeContinue();
    },
    distrust() {
      isDistrusted = true;
    },
    respond(status, headers) {
      // A body that is not read must not be taken for the next request.
      const isLast = isDistrusted || isClosing() || (!incoming.complete && hasBody(incoming));
      outgoing.writeHead(status, [...headers, ...(isLast ? ["connection", "close"] : [])]);
      // Node keeps the head for the first part of a body, which a watch may not have for hours.
      queueMicrotask(() => {
        if (!hasBegun) outgoing.flushHeaders();
      });
    },
    write(chunk) {
      hasBegun = true;
      // Node would send the head in the encoding of a text.
      return outgoing.write(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
    },
    end() {
      hasBegun = true;
      outgoing.end();
      request.answered();
      if (outgoing.closed) return;
      const wasRead = unread.add(request.owner, () => outgoing.destroy());
      outgoing.once("close", wasRead);
    },
    abort() {
      outgoing.destroy();
    },
    onDrain(listener) {
      outgoing.on("drain", listener);
    },
    onClose(listener) {
      if (isOver || outgoing.closed) return listener();
      outgoing.once("close", () => {
        isOver = true;
        listener();
      });
    },
  };
}
