import {
  constants,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { addAbortSignal } from "node:stream";
import type { ConnectionPool } from "./connection-pool.ts";
import type { Exchange, ExchangeHead } from "./exchange.ts";
import { type ExchangeServing, OpenExchange } from "./http-exchange.ts";
import { addressOf, idOf } from "./peer.ts";
import { lingerMs, type ServerOptions } from "./server-options.ts";
import type { UnreadAnswers } from "./unread-answers.ts";

/** RSTs of a client (CVE-2023-44487): so many at once, then so many a second. */
const resets = { burst: 250, rate: 33 } as const;

/** Those of a request (RFC 9113, section 8.3.1). */
const pseudoHeaders = 4;

/** What the server for HTTP/2 needs beside its options. */
interface Http2Serving {
  readonly connections: ConnectionPool;
  /** Whether each session ends with its next request. */
  readonly isClosing: () => boolean;
  /** A function for each open session that tells its client to leave. */
  readonly sessions: Set<() => void>;
  readonly unread: UnreadAnswers;
}

/**
 * A server for HTTP/2 that has no socket of its own: it is given connections. Streams, not
 * compatibility objects, which Node would make for each of them, carry requests.
 */
export function http2Server(
  options: ServerOptions,
  { connections, isClosing, sessions, unread }: Http2Serving,
): Http2Server {
  const { limits } = options;
  const server = createServer({
    settings: { maxConcurrentStreams: limits.streams, maxHeaderListSize: limits.headBytes },
    maxHeaderListPairs: limits.fields + pseudoHeaders,
    maxSendHeaderBlockLength: 2 * limits.headBytes,
    streamResetBurst: resets.burst,
    streamResetRate: resets.rate,
  });
  server.on("session", (session) => {
    const { leave, isLeaving } = closeWhenIdle(session, options);
    sessions.add(leave);
    session.once("close", () => sessions.delete(leave));
    session.on("error", () => {});
    limitControlFrames(session, options);
    // A session that has ended does not know its socket any more.
    const peerAddress = addressOf(session.socket);
    const connection = connections.of(idOf(session.socket));
    session.on("stream", (stream: ServerHttp2Stream, _headers, _flags, rawHeaders) => {
      // A stream without a listener for its errors would end the process.
      stream.on("error", () => {});
      // GOAWAY tells the client to repeat it elsewhere, and Node sends that later than it reads.
      if (isLeaving()) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
      if (isClosing()) leave();
      // Node enforces the limit only once the client has acknowledged it.
      if (headBytes(rawHeaders) > limits.headBytes)
        return stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      options.onExchange?.(
        new Http2Exchange({ stream, rawHeaders, peerAddress, connection, unread }),
      );
    });
  });
  server.on("sessionError", () => {});
  return server;
}

/** The size of a header list (RFC 9113, section 6.5.2). */
function headBytes(rawHeaders: readonly string[]): number {
  return rawHeaders.reduce((bytes, text) => bytes + text.length + 16, 0);
}

/**
 * Ends a session without a first request, and later one without any: pings do not count. `leave`
 * tells the client to leave (RFC 9113, section 6.8).
 */
function closeWhenIdle(
  session: ServerHttp2Session,
  { clock, limits: { firstStreamMs, idleMs } }: ServerOptions,
): { readonly leave: () => void; readonly isLeaving: () => boolean } {
  let streams = 0;
  let isLeaving = false;
  let cancel = clock.wakeAfter(firstStreamMs, () => session.destroy());
  const wait = (): void => {
    cancel();
    if (streams > 0 || session.closed || session.destroyed) return;
    cancel = isLeaving
      ? clock.wakeAfter(lingerMs, () => session.close())
      : clock.wakeAfter(idleMs, leave);
  };
  // Not at once: a client such as undici drops answers that it has received and not read yet when
  // the server closes the connection right behind them.
  const leave = (): void => {
    if (isLeaving || session.closed || session.destroyed) return;
    isLeaving = true;
    session.goaway();
    wait();
  };
  session.on("stream", (stream) => {
    cancel();
    streams += 1;
    stream.once("close", () => {
      streams -= 1;
      wait();
    });
  });
  session.once("close", () => cancel());
  return { leave, isLeaving: () => isLeaving };
}

/**
 * Ends a session whose client makes the server answer frames that carry nothing (CVE-2019-9512).
 */
function limitControlFrames(
  session: ServerHttp2Session,
  { clock, limits: { controlFrames, controlMs } }: ServerOptions,
): void {
  let count = 0;
  let cancel = (): void => {};
  const note = (): void => {
    if (count === 0) cancel = clock.wakeAfter(controlMs, () => (count = 0));
    count += 1;
    if (count > controlFrames) session.destroy();
  };
  session.on("ping", note);
  session.on("remoteSettings", note);
  session.once("close", () => cancel());
}

/** A request over HTTP/2: its stream and its header list, pseudo-headers included. */
interface Http2Request extends ExchangeServing {
  readonly stream: ServerHttp2Stream;
  readonly rawHeaders: readonly string[];
  readonly peerAddress: string;
}

/** The head of a request over HTTP/2; a CONNECT has no path (RFC 9113, section 8.5). */
function http2Head({ stream, rawHeaders, peerAddress }: Http2Request): ExchangeHead {
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
    endsAfterHead: stream.endAfterHeaders,
    peerAddress,
  };
}

/** An exchange over HTTP/2. */
class Http2Exchange extends OpenExchange<ServerHttp2Stream> implements Exchange {
  readonly head: ExchangeHead;
  readonly body: ServerHttp2Stream;

  constructor(received: Http2Request) {
    const { stream } = received;
    super(stream, received);
    this.body = stream;
    this.head = http2Head(received);
    // Node resets a stream whose body nothing reads as soon as its answer is written, and then the
    // end of an answer that waits for the flow control of its client is never sent.
    if (stream.endAfterHeaders) stream.resume();
    // After a RST_STREAM with NO_ERROR, Node waits until what was written is sent: it never is.
    stream.once("aborted", () => stream.destroy());
  }

  isBodyCut(): boolean {
    return this.body.aborted;
  }

  get hasResponded(): boolean {
    return this.body.headersSent;
  }

  acceptBody(): void {
    const { body: stream, head } = this;
    if (!stream.destroyed && !stream.headersSent && hasExpect(head.rawHeaders))
      stream.additionalHeaders({ ":status": 100 });
  }

  closeAfterResponse(): void {}

  respond(status: number, headers: readonly string[]): void {
    if (!this.body.destroyed) this.body.respond([":status", String(status), ...headers]);
  }

  write(chunk: Uint8Array | string): boolean {
    return this.body.destroyed || this.body.write(chunk);
  }

  end(): void {
    const stream = this.body;
    if (stream.destroyed) return;
    stream.end();
    this.answered();
    // Or else the stream stays for as long as the client sends (RFC 9113, section 8.1). Not before
    // the answer was sent: Node resets no stream that is destroyed after its close, and then sends
    // empty frames of it without an end.
    if (!stream.endAfterHeaders && !stream.readableEnded)
      stream.once("finish", () => stream.close(constants.NGHTTP2_NO_ERROR));
  }

  abort(): void {
    // close() would end the answer first, so that it looked whole; an abort is RST with CANCEL.
    addAbortSignal(AbortSignal.abort(), this.body);
  }
}

function hasExpect(rawHeaders: readonly string[]): boolean {
  return rawHeaders.some(
    (text, at) => at % 2 === 0 && text === "expect" && rawHeaders[at + 1] === "100-continue",
  );
}
