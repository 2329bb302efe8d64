import { constants, type ServerHttp2Stream } from "node:http2";
import { addAbortSignal } from "node:stream";
import type { Connection } from "./connections.ts";
import type { Exchange, ExchangeHead } from "./exchange.ts";
import type { UnreadAnswers } from "./unread-answers.ts";

/** A request over HTTP/2: its stream and its header list, pseudo-headers included. */
interface Http2Request {
  readonly stream: ServerHttp2Stream;
  readonly rawHeaders: readonly string[];
  readonly peerAddress: string;
  readonly connection: Connection;
  readonly unread: UnreadAnswers;
}

/** The head of a request over HTTP/2; a CONNECT has no path (RFC 9113, section 8.5). */
function http2Head({
  rawHeaders,
  peerAddress,
  endsAfterHead,
}: Pick<Http2Request, "rawHeaders" | "peerAddress"> & {
  readonly endsAfterHead: boolean;
}): ExchangeHead {
  const pseudo = new Map<string, string>();
  const fields: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = [rawHeaders[at], rawHeaders[at + 1]];
    if (name.startsWith(":")) pseudo.set(name, value);
    else fields.push(name, value);
  }
  return {
    method: pseudo.get(":method") ?? "",
    target: pseudo.get(":path") ?? "",
    rawHeaders: fields,
    httpVersion: "2",
    authority: pseudo.get(":authority"),
    isUpgrade: false,
    endsAfterHead,
    peerAddress,
  };
}

/** An exchange over HTTP/2. */
export function http2Exchange({ stream, connection, unread, ...read }: Http2Request): Exchange {
  const head = http2Head({ ...read, endsAfterHead: stream.endAfterHeaders });
  const request = connection.began();
  stream.once("close", () => request.closed());
  const expectsContinue = hasExpect(head.rawHeaders);
  // Node resets a stream whose body nothing reads as soon as its answer is written, and then the end
  // of an answer that waits for the flow control of its client is never sent.
  if (stream.endAfterHeaders) stream.resume();
  // After a RST_STREAM with NO_ERROR, Node waits until what was written is sent: it never is.
  stream.once("aborted", () => stream.destroy());
  return {
    head,
    body: stream,
    isBodyCut: () => stream.aborted,
    get hasResponded() {
      return stream.headersSent;
    },
    accepted: (user) => request.accepted(user),
    acceptBody() {
      if (expectsContinue && !stream.destroyed && !stream.headersSent)
        stream.additionalHeaders({ ":status": 100 });
    },
    distrust() {},
    respond(status, headers) {
      if (stream.destroyed) return;
      stream.respond([":status", String(status), ...headers]);
    },
    write: (chunk) => stream.destroyed || stream.write(chunk),
    end() {
      if (stream.destroyed) return;
      stream.end();
      request.answered();
      stream.once(
        "close",
        unread.add(request.owner, () => stream.destroy()),
      );
      // Or else the stream stays for as long as the client sends (RFC 9113, section 8.1). Not before the
      // answer was sent: Node resets no stream that is destroyed after its close, and then sends empty
      // frames of it without an end.
      if (!stream.endAfterHeaders && !stream.readableEnded)
        stream.once("finish", () => stream.close(constants.NGHTTP2_NO_ERROR));
    },
    abort() {
      // close() would end the answer first, so that it looked whole; an abort is RST with CANCEL.
      addAbortSignal(AbortSignal.abort(), stream);
    },
    onDrain(listener) {
      stream.on("drain", listener);
    },
    onClose(listener) {
      if (stream.closed) return listener();
      stream.once("close", listener);
    },
  };
}

function hasExpect(rawHeaders: readonly string[]): boolean {
  return rawHeaders.some(
    (text, at) => at % 2 === 0 && text === "expect" && rawHeaders[at + 1] === "100-continue",
  );
}
