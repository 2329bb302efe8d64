import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Connection, Connections } from "./connections.ts";
import { http1Exchange, http1Head } from "./exchange-http1.ts";
import type { FrontLimits, FrontServerOptions } from "./front-options.ts";
import { idOf } from "./peer.ts";
import type { UnreadAnswers } from "./unread-answers.ts";

const checkEveryMs = 500;
const keepAliveProbeMs = 30_000;

/** What the server for HTTP/1.1 needs beside its options. */
interface Http1ServerTerms {
  readonly limits: FrontLimits;
  readonly connections: Connections;
  /** Whether each connection ends with its next answer. */
  readonly isClosing: () => boolean;
  readonly unread: UnreadAnswers;
}

/** A server for HTTP/1.1 over TLS, which does not listen yet. */
export function http1Server(options: FrontServerOptions, terms: Http1ServerTerms): Server {
  const { tls, isUpgrade, onExchange, onUpgrade } = options;
  const { limits, connections } = terms;
  const connectionOf = (socket: Socket): Connection => connections.of(idOf(socket));
  const turns = new Turns(limits.pipelined);
  const exchange =
    (expectsContinue: boolean) =>
    (incoming: IncomingMessage, outgoing: ServerResponse): void =>
      turns.take({ socket: incoming.socket, outgoing }, () => {
        const connection = connectionOf(incoming.socket);
        onExchange(http1Exchange(incoming, outgoing, { ...terms, connection, expectsContinue }));
      });
  const server = createServer(
    {
      cert: tls.certificate,
      key: tls.privateKey,
      minVersion: "TLSv1.2",
      ALPNProtocols: ["h2", "http/1.1"],
      handshakeTimeout: limits.handshakeMs,
      headersTimeout: limits.headMs,
      // A body may take as long as the API server reads it; its progress is watched elsewhere.
      requestTimeout: 0,
      keepAliveTimeout: limits.idleMs,
      connectionsCheckingInterval: checkEveryMs,
      maxHeaderSize: limits.headBytes,
      keepAlive: true,
      keepAliveInitialDelay: keepAliveProbeMs,
      noDelay: true,
      shouldUpgradeCallback: (incoming) => isUpgrade(incoming.rawHeaders),
    },
    exchange(false),
  );
  server.maxHeadersCount = limits.fields;
  server.on("checkContinue", exchange(true));
  server.on("upgrade", (incoming: IncomingMessage, socket: Duplex, received: Buffer) => {
    if (!turns.isFree(socket)) return void socket.destroy();
    const request = connectionOf(incoming.socket).began();
    socket.once("close", () => request.closed());
    const accepted = (user: string): void => request.accepted(user);
    onUpgrade({ head: http1Head(incoming, true), socket, received, accepted });
  });
  return server;
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
class Turns {
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
