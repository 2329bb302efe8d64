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

/** What a server shows of itself, and whose clients it knows; PEM texts. */
export interface ServerTls {
  readonly certificate: string;
  readonly privateKey: string;
  /** Certificates of authorities; a client certificate of any other counts as none. */
  readonly clientAuthority: string;
}

/** What a server needs; port 0 is any free one. */
export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  readonly handler: Handler;
  /** Asked before the body of a request is read; every request passes unless given. */
  readonly gate?: Gate;
  /** Told what was refused to protect the server. */
  readonly onRefused?: (refused: HttpRefusal) => void;
  readonly clock: Pick<Clock, "wakeAfter">;
  readonly log: Logger;
  /** Longest request body in bytes; 1 MiB unless given. */
  readonly maximumBodyBytes?: number;
  /** Serves HTTPS; clients may show a certificate. */
  readonly tls?: ServerTls;
}

/**
 * What a server refuses to protect itself: a connection beyond its limits, and a body that is too
 * large, too slow, or one too many at a time.
 */
export const httpRefusals = ["connection", "too-large", "too-slow", "overloaded"] as const;

/** One of them. */
export type HttpRefusal = (typeof httpRefusals)[number];

/** What a server holds for its clients now. */
export interface HttpLoad extends ReturnType<Connections["load"]> {
  /**
   * Bytes of the bodies of requests that are not answered: of clients with a certificate, and of
   * strangers.
   */
  readonly bodyBytes: { readonly known: number; readonly strangers: number };
}

/** How a server ends without a client noticing, in milliseconds. */
export interface DrainTimes {
  /** It serves at least this long, so that load balancers learn that it is not ready. */
  readonly leastMs: number;
  /** After this, connections that are still open are closed. */
  readonly mostMs: number;
  /** What requests under way get beyond that. */
  readonly graceMs: number;
}

/** A server that listens. */
export interface HttpServer {
  /** `http://host:port` or `https://host:port`, with the port it really has. */
  readonly url: string;
  readonly port: number;
  load(): HttpLoad;
  /** Other material for the connections to come; those that are open stay. */
  useTls(material: ServerTls): void;
  /**
   * Serves on, new connections too, but ends each connection with its next answer (`Connection:
   * close`); closes when no connection is left. An idle connection stays: a request may be on its
   * way over it, and kube-apiserver sends no review twice.
   */
  drain(times: DrainTimes): Promise<void>;
  /**
   * Takes no more connections, lets the requests under way end, and cuts what is left after
   * `graceMs` milliseconds.
   */
  close(graceMs: number): Promise<void>;
}

/** Milliseconds and bytes that keep a slow or greedy client from holding on to the server. */
const limits = {
  maxHeaderSize: 16_384,
  headersTimeout: 5_000,
  requestTimeout: 15_000,
  // Longer than kube-apiserver keeps an idle connection (90 s, `IdleConnTimeout` of client-go): who
  // sends requests ends it, not who may be sent one.
  keepAliveTimeout: 120_000,
  connectionsCheckingInterval: 2_000,
} as const;
const handshakeTimeout = 5_000;

/** An idle TLS connection takes some 50 kB: strangers take 40 MB at most. */
const connectionLimits: ConnectionLimits = {
  pending: 256,
  pendingPerAddress: 64,
  strangers: 512,
  strangersPerAddress: 128,
};
/** No peer takes more, whatever it shows. */
const mostConnections = 4_096;
/** Twice: strangers leave room for clients with a certificate. */
const mostBodyBytes = 8 * 1_048_576;

/** Serves `handler` over HTTP/1.1; rejects when the address cannot be listened on. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const onRefused = options.onRefused ?? (() => {});
  const connections = new Connections(connectionLimits, () => onRefused("connection"));
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
