import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import { BodyBudget } from "./body-budget.ts";
import { type Clock, sleep } from "./clock.ts";
import {
  type ConnectionLimits,
  connectionLimits,
  ConnectionPool,
  recordConnections,
} from "./connection-pool.ts";
import { shareHandshakes } from "./handshakes.ts";
import type { Logger } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { idOf, peerOf } from "./peer.ts";
import type { Gate, Handler } from "./routes.ts";
import { serve } from "./serve-request.ts";

/** The serving certificate and the client CA of a server, in PEM. */
export interface ServerTls {
  readonly certificate: string;
  readonly privateKey: string;
  /** CA certificates; a client certificate of any other CA is ignored. */
  readonly clientAuthority: string;
}

/** Options of a server; port 0 is any free port. */
interface HttpServerOptions {
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
  /** Default: {@link connectionLimits}. */
  readonly connections?: ConnectionLimits;
}

/**
 * What a server refuses to protect itself: connections beyond its limits, and bodies that are too
 * large, too slow or too many at a time.
 */
export const httpRefusals = ["connection", "too-large", "too-slow", "overloaded"] as const;

/** Returns a function that counts what a server refuses by reason. */
export function refusalCounter<Reason extends string>(
  server: "http" | "webhook" | "issuer" | "gateway",
  reasons: readonly Reason[],
  metrics: Metrics,
): (reason: Reason) => void {
  const name = "latchkey_http_refusals_total";
  return metrics.counterOf(name, reasons, (reason) => ({ server, reason }));
}

/** One of {@link httpRefusals}. */
type HttpRefusal = (typeof httpRefusals)[number];

/** The current load of a server. */
interface HttpLoad extends ReturnType<ConnectionPool["load"]> {
  /** Bytes of the bodies of pending requests, of clients with and without a certificate. */
  readonly bodyBytes: { readonly certified: number; readonly others: number };
}

/** Durations of a graceful shutdown, in milliseconds. */
interface DrainTimes {
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
 * For clients with and for clients without a certificate each, so that neither blocks the other.
 */
const mostBodyBytes = 8 * 1_048_576;

/** Serves `handler` over HTTP/1.1; rejects if it cannot listen on the address. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const onRefused = options.onRefused ?? (() => {});
  const connections = new ConnectionPool(options.connections ?? connectionLimits, () =>
    onRefused("connection"),
  );
  const budgets = {
    certified: new BodyBudget(mostBodyBytes),
    others: new BodyBudget(mostBodyBytes),
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
  if (secure !== undefined) shareHandshakes(secure);
  recordConnections(server, connections, () => {
    if (connections.load().all === 0) onEmpty();
  });
  secure?.on("secureConnection", (socket) => {
    const { clientName } = peerOf(socket);
    if (clientName !== undefined) connections.of(idOf(socket)).accepted(clientName);
  });
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
      bodyBytes: { certified: budgets.certified.used, others: budgets.others.used },
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
