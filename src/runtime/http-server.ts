import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer, Server as TlsServer } from "node:https";
import type { Socket } from "node:net";
import { ByteBudget } from "./body.ts";
import type { Clock } from "./clock.ts";
import { type ConnectionLimits, Connections } from "./connections.ts";
import type { Logger } from "./log.ts";
import { idOf, peerOf } from "./peer.ts";
import { serve } from "./serve-request.ts";
import { sleep } from "./sleep.ts";
import type { Gate, Handler } from "./routes.ts";

/** The serving certificate and the client CA of a server, in PEM. */
export interface ServerTls {
  readonly certificate: string;
  readonly privateKey: string;
  /** CA certificates; a client certificate of any other CA is ignored. */
  readonly clientAuthority: string;
}

/** Options of a server; port 0 is any free port. */
export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  readonly handler: Handler;
  /** Checks a request before its body is read; default: accepts every request. */
  readonly gate?: Gate;
  /** Called with what was refused to protect the server. */
  readonly onRefused?: (refused: HttpRefusal) => void;
  readonly clock: Pick<Clock, "wakeAfter">;
  readonly log: Logger;
  /** Maximum size of a request body in bytes; default: 1 MiB. */
  readonly maximumBodyBytes?: number;
  /** Serves HTTPS with optional client certificates. */
  readonly tls?: ServerTls;
  /** Whether clients without a certificate may keep many requests waiting for their response. */
  readonly hasLongPolls?: boolean;
}

/**
 * What a server refuses to protect itself: connections beyond its limits, and bodies that are too
 * large, too slow or too many at a time.
 */
export const httpRefusals = ["connection", "too-large", "too-slow", "overloaded"] as const;

/** One of {@link httpRefusals}. */
export type HttpRefusal = (typeof httpRefusals)[number];

/** The current load of a server. */
export interface HttpLoad extends ReturnType<Connections["load"]> {
  /** Bytes of the bodies of pending requests, of clients with and without a certificate. */
  readonly bodyBytes: { readonly known: number; readonly strangers: number };
}

/** Durations of a graceful shutdown, in milliseconds. */
export interface DrainTimes {
  /** Minimum time to serve, so that load balancers observe that the server is not ready. */
  readonly leastMs: number;
  /** Time after which open connections are closed. */
  readonly mostMs: number;
  /** Additional time for pending requests. */
  readonly graceMs: number;
}

/** A listening server. */
export interface HttpServer {
  /** `http://host:port` or `https://host:port`, with the actual port. */
  readonly url: string;
  readonly port: number;
  load(): HttpLoad;
  /** Uses other certificates for new connections; open connections are kept. */
  useTls(material: ServerTls): void;
  /**
   * Continues to serve, also on new connections, and closes each connection with its next response
   * (`Connection: close`); closes when no connection is left. Idle connections stay open: a request
   * may be in flight on them, and kube-apiserver does not send a review twice.
   */
  drain(times: DrainTimes): Promise<void>;
  /**
   * Accepts no more connections, waits for pending requests, and closes the remaining connections
   * after `graceMs` milliseconds.
   */
  close(graceMs: number): Promise<void>;
}

/**
 * Longer than kube-apiserver keeps an idle connection (90 s, `IdleConnTimeout` of client-go): the
 * client closes it, so no request is sent on a connection that the server closes.
 */
const idleMs = 120_000;

/**
 * Timeouts in milliseconds and sizes in bytes that limit slow or greedy clients. Node.js counts the
 * time for a request from the start of a connection, and client-go keeps a connection that it has
 * opened and not used; a slow body has limits of its own.
 */
const limits = {
  maxHeaderSize: 16_384,
  headersTimeout: idleMs,
  requestTimeout: idleMs,
  keepAliveTimeout: idleMs,
  connectionsCheckingInterval: 2_000,
} as const;
/** Longer than kube-apiserver waits for a handshake (10 s, `TLSHandshakeTimeout` of client-go). */
const handshakeTimeout = 12_000;

/**
 * The limits for one address have room for all concurrent requests of a kube-apiserver, 600 by
 * default (`--max-requests-inflight`, `--max-mutating-requests-inflight`): it opens a connection for
 * each, at once after a replica has stopped. A TLS connection takes about 50 kB, so clients without
 * a certificate take at most 100 MB; 130 MB with long polls.
 */
const connectionLimits: ConnectionLimits = {
  pending: 1_024,
  pendingPerAddress: 768,
  strangers: 1_024,
  strangersPerAddress: 768,
};

/** Limits with room for 1,000 polls besides the other clients, who may share one address. */
const longPollLimits: ConnectionLimits = {
  ...connectionLimits,
  strangers: 1_536,
  strangersPerAddress: 1_280,
};
/** Maximum number of connections of all clients. */
const mostConnections = 4_096;
/**
 * For clients with and for clients without a certificate each, so that neither blocks the other.
 */
const mostBodyBytes = 8 * 1_048_576;

/** Serves `handler` over HTTP/1.1; rejects if it cannot listen on the address. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const onRefused = options.onRefused ?? (() => {});
  const connections = new Connections(
    options.hasLongPolls === true ? longPollLimits : connectionLimits,
    () => onRefused("connection"),
  );
  const budgets = {
    known: new ByteBudget(mostBodyBytes),
    strangers: new ByteBudget(mostBodyBytes),
  };
  let isDraining = false;
  let onEmpty = (): void => {};
  const listener: RequestListener = (incoming, outgoing) =>
    void serve(incoming, outgoing, {
      ...options,
      onRefused,
      connections,
      budgets,
      isClosing: () => isDraining || !server.listening,
    });
  const secure = options.tls && tlsServer(options.tls, listener);
  const server = secure ?? createServer(limits, listener);
  server.maxConnections = mostConnections;
  track(server, connections, () => onEmpty());
  await listening(server, options);
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : options.port;
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  async function drain({ leastMs, mostMs, graceMs }: DrainTimes): Promise<void> {
    const { clock } = options;
    isDraining = true;
    await sleep(leastMs, { clock });
    const empty = new AbortController();
    onEmpty = () => empty.abort();
    if (connections.load().all > 0) await sleep(mostMs - leastMs, { clock, signal: empty.signal });
    await close(server, graceMs, clock);
  }
  return {
    url: `${secure === undefined ? "http" : "https"}://${host}:${port}`,
    port,
    load: () => ({
      ...connections.load(),
      bodyBytes: { known: budgets.known.used, strangers: budgets.strangers.used },
    }),
    useTls: (material) => secure?.setSecureContext(contextOf(material)),
    drain,
    close: (graceMs) => close(server, graceMs, options.clock),
  };
}

function tlsServer(tls: ServerTls, listener: RequestListener): TlsServer {
  return createTlsServer(
    {
      ...limits,
      handshakeTimeout,
      ...contextOf(tls),
      requestCert: true,
      rejectUnauthorized: false,
    },
    listener,
  );
}

/** Counts the connections of a server; calls `onEmpty` when none is left. */
function track(server: Server | TlsServer, connections: Connections, onEmpty: () => void): void {
  const isSecure = server instanceof TlsServer;
  server.on("connection", (socket: Socket) => {
    const id = idOf(socket);
    socket.once("close", () => {
      connections.closed(id);
      if (connections.load().all === 0) onEmpty();
    });
    connections.opened(id, socket.remoteAddress ?? "", socket);
    if (!isSecure) connections.established(id, false);
  });
  if (isSecure)
    server.on("secureConnection", (socket) =>
      connections.established(idOf(socket), peerOf(socket).clientName !== undefined),
    );
}

function contextOf({ certificate, privateKey, clientAuthority }: ServerTls): {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  readonly minVersion: "TLSv1.2";
} {
  return { cert: certificate, key: privateKey, ca: clientAuthority, minVersion: "TLSv1.2" };
}

function listening(server: Server | TlsServer, { host, port }: HttpServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function close(
  server: Server | TlsServer,
  graceMs: number,
  clock: Pick<Clock, "wakeAfter">,
): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.wakeAfter(graceMs, () => server.closeAllConnections());
    server.close(() => {
      cancel();
      resolve();
    });
    server.closeIdleConnections();
  });
}
