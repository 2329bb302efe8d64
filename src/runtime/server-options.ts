import type { IncomingMessage, ServerResponse } from "node:http";
import type { Timers } from "./clock.ts";
import { type Connection, type ConnectionLimits, connectionLimits } from "./connection-pool.ts";
import type { Exchange, UpgradeExchange } from "./exchange.ts";

/** The serving certificate and the client CA of a server, in PEM. */
export interface ServerTls {
  readonly certificate: string;
  readonly privateKey: string;
  /** CA certificates; a client certificate of any other CA is ignored. */
  readonly clientAuthority: string;
}

/** What a server needs; port 0 is any free one. */
export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  /** Serves HTTPS. */
  readonly tls?: ServerTls;
  readonly clock: Timers;
  readonly limits: ServerLimits;
  /** Called for each connection that is closed for the sake of another one. */
  readonly onRefused?: (refused: "connection") => void;
  readonly onExchange?: (exchange: Exchange) => void;
  /**
   * Handles requests over HTTP/1.1 instead: an exchange, which can carry any answer, takes about 30
   * µs of processor time more.
   */
  readonly onRequest?: (
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    serving: { readonly connection: Connection; readonly isClosing: () => boolean },
  ) => void;
  /** Which upgrades are answered as such; others are requests like any other. */
  readonly isUpgrade?: (rawHeaders: readonly string[]) => boolean;
  readonly onUpgrade?: (exchange: UpgradeExchange) => void;
}

/** Milliseconds, bytes and counts that bound what a client that is slow or greedy can take. */
export interface ServerLimits {
  /** HTTP/2 needs TLS; the certificates of its clients are not known. */
  readonly protocols: readonly ("h2" | "http/1.1")[];
  readonly handshakeMs: number;
  /** From the first byte of a head to its end. */
  readonly headMs: number;
  /** From the first byte of a request to the end of its body; 0 without a limit. */
  readonly requestMs: number;
  /** How often times are checked. */
  readonly checkMs: number;
  readonly headBytes: number;
  readonly fields: number;
  readonly idleMs: number;
  /** For an HTTP/2 session until its first request. */
  readonly firstStreamMs: number;
  readonly streams: number;
  /** PING and SETTINGS frames that an HTTP/2 client may send in `controlMs`. */
  readonly controlFrames: number;
  readonly controlMs: number;
  /** Requests that a client of HTTP/1.1 may send before the answer to an earlier one. */
  readonly pipelined: number;
  readonly connections: ConnectionLimits;
  /** Answers that were ended and that their clients have not read: how many, and for how long. */
  readonly unread: number;
  readonly unreadMs: number;
}

/** How long a client of HTTP/2 that knows of the end of its session may read, and keep it. */
export const lingerMs = 2_000;

/**
 * Longer than kube-apiserver and other programs with client-go keep an idle connection (90 s,
 * `IdleConnTimeout`): the client closes it, so no request is sent on a connection that the server
 * closes.
 */
const idleMs = 120_000;

/** The limits of a server that forwards the requests of its clients. */
export const frontLimits: ServerLimits = {
  protocols: ["h2", "http/1.1"],
  handshakeMs: 10_000,
  headMs: 10_000,
  // A body may take as long as the API server reads it; its progress is watched elsewhere.
  requestMs: 0,
  checkMs: 500,
  headBytes: 32 * 1024,
  fields: 200,
  idleMs,
  firstStreamMs: 30_000,
  streams: 250,
  controlFrames: 100,
  controlMs: 10_000,
  pipelined: 8,
  connections: connectionLimits,
  unread: 2_000,
  unreadMs: 60_000,
};

/**
 * The limits of a server that answers requests itself. Node.js counts the time for a request from
 * the start of a connection, and client-go keeps a connection that it has opened and not used; a
 * slow body has limits of its own.
 */
export const httpLimits: ServerLimits = {
  ...frontLimits,
  protocols: ["http/1.1"],
  /**
   * Longer than kube-apiserver waits for a handshake (10 s, `TLSHandshakeTimeout` of client-go).
   */
  handshakeMs: 12_000,
  headMs: idleMs,
  requestMs: idleMs,
  checkMs: 2_000,
  headBytes: 16_384,
  fields: 2_000,
};
