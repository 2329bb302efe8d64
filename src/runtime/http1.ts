import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SecureContextOptions } from "node:tls";
import type { Connection, ConnectionPool } from "./connection-pool.ts";
import { type Exchange, type ExchangeHead, withLowerNames } from "./exchange.ts";
import { type ExchangeServing, OpenExchange } from "./http-exchange.ts";
import { addressOf, idOf } from "./peer.ts";
import { hasBody } from "./read-body.ts";
import type { ServerLimits, ServerOptions, ServerTls } from "./server-options.ts";
import type { UnreadAnswers } from "./unread-answers.ts";

const keepAliveProbeMs = 30_000;

/** What all connections of a server share. */
interface Http1Serving {
  readonly connections: ConnectionPool;
  /** Whether each connection ends with its next answer. */
  readonly isClosing: () => boolean;
  readonly unread: UnreadAnswers;
}

/** A server for HTTP/1.1, over TLS if it has certificates, which does not listen yet. */
export function http1Server(options: ServerOptions, serving: Http1Serving): Server {
  const { tls, limits, onExchange, onRequest } = options;
  const { isUpgrade = () => false, onUpgrade = () => {} } = options;
  const connectionOf = (socket: Socket): Connection => serving.connections.of(idOf(socket));
  const pipelines = new PipelineQueue(limits.pipelined);
  const exchange =
    (expectsContinue: boolean) =>
    (incoming: IncomingMessage, outgoing: ServerResponse): void =>
      pipelines.take({ socket: incoming.socket, outgoing }, () => {
        const connection = connectionOf(incoming.socket);
        onExchange?.(
          new Http1Exchange(incoming, outgoing, { ...serving, connection, expectsContinue }),
        );
      });
  const { isClosing } = serving;
  const answer: RequestListener =
    onRequest === undefined
      ? exchange(false)
      : (incoming, outgoing) =>
          onRequest(incoming, outgoing, { connection: connectionOf(incoming.socket), isClosing });
  const settings = {
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: limits.checkMs,
    maxHeaderSize: limits.headBytes,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveProbeMs,
    noDelay: true,
    shouldUpgradeCallback: (incoming: IncomingMessage) =>
      isUpgrade(withLowerNames(incoming.rawHeaders)),
  };
  const server =
    tls === undefined
      ? createServer(settings, answer)
      : createTlsServer({ ...settings, ...tlsSettings(tls, limits) }, answer);
  server.maxHeadersCount = limits.fields;
  if (onRequest === undefined) server.on("checkContinue", exchange(true));
  server.on("upgrade", (incoming: IncomingMessage, socket: Duplex, received: Buffer) => {
    if (!pipelines.isFree(socket)) return void socket.destroy();
    const request = connectionOf(incoming.socket).began();
    socket.once("close", () => request.closed());
    const accepted = (user: string): void => request.accepted(user);
    onUpgrade({ head: http1Head(incoming, true), socket, received, accepted });
  });
  return server;
}

function tlsSettings(tls: ServerTls, limits: ServerLimits) {
  return {
    ...contextOf(tls, limits),
    ALPNProtocols: [...limits.protocols],
    handshakeTimeout: limits.handshakeMs,
    requestCert: mayHaveCertificate(limits),
    rejectUnauthorized: false,
  };
}

/** The certificates of a server, as Node takes them. */
export function contextOf(
  { certificate, privateKey, clientAuthority }: ServerTls,
  limits: ServerLimits,
): SecureContextOptions {
  return {
    cert: certificate,
    key: privateKey,
    minVersion: "TLSv1.2",
    ...(mayHaveCertificate(limits) && { ca: clientAuthority }),
  };
}

/** HTTP/2 is for clients with tokens; all others may have a certificate. */
function mayHaveCertificate({ protocols }: ServerLimits): boolean {
  return !protocols.includes("h2");
}

interface Turn {
  readonly socket: Duplex;
  readonly outgoing: ServerResponse;
}

/** A request, and what handles it. */
interface Waiting {
  readonly turn: Turn;
  readonly handle: () => void;
}

/**
 * Handles the requests of a connection one after the other (RFC 9112, section 9.3.2), so that what
 * follows a request that ends the connection is never read as a request.
 */
class PipelineQueue {
  readonly #mostWaiting: number;
  /** The answer under way on a connection, and what waits for it. */
  readonly #busy = new WeakMap<Duplex, { outgoing: ServerResponse; readonly waiting: Waiting[] }>();

  constructor(mostWaiting: number) {
    this.#mostWaiting = mostWaiting;
  }

  /** Whether no answer is missing on a connection. */
  isFree(socket: Duplex): boolean {
    const busy = this.#busy.get(socket);
    return busy === undefined || (busy.outgoing.writableEnded && busy.waiting.length === 0);
  }

  /** Handles a request when it is its turn; a client that waits for no answer at all is cut. */
  take(turn: Turn, handle: () => void): void {
    const busy = this.#busy.get(turn.socket);
    if (busy === undefined) this.#begin({ turn, handle }, []);
    else if (busy.waiting.length < this.#mostWaiting) busy.waiting.push({ turn, handle });
    else turn.socket.destroy();
  }

  #begin({ turn: { socket, outgoing }, handle }: Waiting, waiting: Waiting[]): void {
    this.#busy.set(socket, { outgoing, waiting });
    outgoing.once("close", () => {
      const next = waiting.shift();
      if (next === undefined || socket.destroyed || socket.writableEnded) this.#busy.delete(socket);
      else this.#begin(next, waiting);
    });
    handle();
  }
}

/** The head of a request over HTTP/1.x. */
function http1Head(incoming: IncomingMessage, isUpgrade: boolean): ExchangeHead {
  return {
    method: incoming.method ?? "",
    target: incoming.url ?? "",
    rawHeaders: withLowerNames(incoming.rawHeaders),
    httpVersion: incoming.httpVersion === "1.1" ? "1.1" : "1.0",
    isUpgrade,
    peerAddress: addressOf(incoming.socket),
  };
}

/** What an exchange over HTTP/1.1 needs beside its two messages. */
interface Http1ExchangeOptions extends ExchangeServing {
  /** Whether the client waits for `100 Continue`. */
  readonly expectsContinue: boolean;
  /** Whether the connection ends with this answer. */
  readonly isClosing: () => boolean;
}

/** An exchange over HTTP/1.1. */
class Http1Exchange extends OpenExchange<ServerResponse> implements Exchange {
  readonly head: ExchangeHead;
  readonly body: IncomingMessage;
  readonly #options: Http1ExchangeOptions;
  #isLastRequest = false;
  #hasBegun = false;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse, options: Http1ExchangeOptions) {
    super(outgoing, options);
    [this.body, this.#options] = [incoming, options];
    this.head = http1Head(incoming, false);
    outgoing.sendDate = false;
  }

  isBodyCut(): boolean {
    return !this.body.complete;
  }

  get hasResponded(): boolean {
    return this.outgoing.headersSent;
  }

  acceptBody(): void {
    if (this.#options.expectsContinue) this.outgoing.writeContinue();
  }

  closeAfterResponse(): void {
    this.#isLastRequest = true;
  }

  respond(status: number, headers: readonly string[]): void {
    const isUnread = !this.body.complete && hasBody(this.body);
    // A body that is not read must not be taken for the next request.
    const isLast = this.#isLastRequest || this.#options.isClosing() || isUnread;
    this.outgoing.writeHead(status, isLast ? [...headers, "connection", "close"] : [...headers]);
    // Node keeps the head for the first part of a body, which a watch may not have for hours.
    queueMicrotask(() => {
      if (!this.#hasBegun) this.outgoing.flushHeaders();
    });
  }

  write(chunk: Uint8Array | string): boolean {
    this.#hasBegun = true;
    // Node would send the head in the encoding of a text.
    return this.outgoing.write(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  }

  end(): void {
    this.#hasBegun = true;
    this.outgoing.end();
    this.answered();
  }

  abort(): void {
    this.outgoing.destroy();
  }
}
