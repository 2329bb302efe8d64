import type { Server as PlainServer } from "node:http";
import type { Http2Server } from "node:http2";
import { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import type { Server as TlsServer, TLSSocket } from "node:tls";
import { ConnectionPool, recordConnections } from "./connection-pool.ts";
import { FairShares, type Share } from "./fair-shares.ts";
import { contextOf, http1Server } from "./http1.ts";
import { http2Server } from "./http2.ts";
import { addressOf, idOf, networkOf, peerOf } from "./peer.ts";
import { lingerMs, type ServerOptions, type ServerTls } from "./server-options.ts";
import { UnreadAnswers } from "./unread-answers.ts";

/** Durations of a graceful shutdown, in milliseconds from its begin. */
interface DrainTimes {
  /**
   * Minimum time to serve, and time without a new connection after which load balancers send no
   * more.
   */
  readonly leastMs: number;
  /** Time after which the server takes no more connections. */
  readonly mostMs: number;
  /** Additional time for pending requests, after which the rest is closed. */
  readonly graceMs?: number;
}

/** A listening server. */
export interface Server {
  readonly port: number;
  /** `http://host:port` or `https://host:port`, with the actual address and port. */
  readonly url: string;
  /** Current numbers of connections. */
  load(): ReturnType<ConnectionPool["load"]>;
  /** Uses other certificates for new connections; open connections are kept. */
  useTls(material: ServerTls): void;
  /**
   * Continues to serve, also on new connections, and ends each connection with its next answer;
   * over HTTP/2, 2 seconds after its last one. Closes no idle connection of HTTP/1.1, because a
   * request may be on its way over it. Ends when no connection is left and no new one comes.
   */
  drain(times: DrainTimes): Promise<void>;
  /**
   * Accepts no more connections, waits for pending requests, and closes the remaining connections
   * after `graceMs` milliseconds.
   */
  close(graceMs: number): Promise<void>;
}

/** Starts a server; rejects when the address cannot be listened on. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { clock, limits, onRefused = () => {} } = options;
  const sessions = new Set<() => void>();
  let isDraining = false;
  const connections = new ConnectionPool(limits.connections, () => onRefused("connection"));
  const unread = new UnreadAnswers({ clock, most: limits.unread, mostMs: limits.unreadMs });
  const isClosing = (): boolean => isDraining || !server.listening;
  const serving = { connections, unread, isClosing, sessions };
  const server = http1Server(options, serving);
  if (server instanceof SecureServer) {
    if (limits.protocols.includes("h2"))
      divideByProtocol(server, http2Server(options, serving), clock);
    else acceptCertificates(server, connections);
    shareHandshakes(server);
  }
  // After the handshakes, or a connection that waits for its turn would count only then.
  recordConnections(server, connections);
  await listening(server, options);
  const bound = server.address();
  const { address, family, port } =
    typeof bound === "object" && bound !== null
      ? bound
      : { address: options.host, family: "", port: options.port };
  const host = family === "IPv6" ? `[${address}]` : address;

  function close(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel =
        graceMs > 0 ? clock.wakeAfter(graceMs, () => connections.closeAll()) : (): void => {};
      server.close(() => {
        cancel();
        resolve();
      });
      server.closeIdleConnections();
      if (graceMs <= 0) connections.closeAll();
    });
  }
  return {
    port,
    url: `${options.tls === undefined ? "http" : "https"}://${host}:${port}`,
    load: () => connections.load(),
    useTls(material) {
      if (server instanceof SecureServer) server.setSecureContext(contextOf(material, limits));
    },
    async drain({ leastMs, mostMs, graceMs = 0 }) {
      isDraining = true;
      for (const leave of sessions) leave();
      const over = new AbortController();
      const cancel = clock.wakeAfter(mostMs, () => over.abort());
      await connections.abandoned(leastMs, { clock, signal: over.signal });
      cancel();
      await close(graceMs);
    },
    close,
  };
}

/** Records the name of each client certificate: a connection with one is authenticated. */
function acceptCertificates(server: SecureServer, connections: ConnectionPool): void {
  server.on("secureConnection", (socket: TLSSocket) => {
    const { clientName } = peerOf(socket);
    if (clientName !== undefined) connections.of(idOf(socket)).accepted(clientName);
  });
}

/** Node ends a session in order and leaves the connection to its client, which may keep it. */
function closeWhenEnded(socket: TLSSocket, clock: ServerOptions["clock"]): void {
  socket.once("finish", () =>
    socket.once(
      "close",
      clock.wakeAfter(lingerMs, () => socket.destroy()),
    ),
  );
}

/** Gives each connection to the server of the protocol that its handshake chose (RFC 7301). */
function divideByProtocol(
  server: SecureServer,
  http2: Http2Server,
  clock: ServerOptions["clock"],
): void {
  const [http1] = server.listeners("secureConnection");
  server.removeAllListeners("secureConnection");
  server.on("secureConnection", (socket: TLSSocket) => {
    if (socket.alpnProtocol !== "h2") return void http1?.call(server, socket);
    closeWhenEnded(socket, clock);
    http2.emit("connection", socket);
  });
}

function listening(server: PlainServer, { host, port }: ServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** TLS handshakes of a server at a time; each takes about a millisecond of processor time. */
export const mostHandshakes = 256;

/**
 * Lets the TLS handshakes of a server take turns by address. Otherwise a flood of connections from
 * one address keeps the process from the handshakes of the others until their time is over. A
 * connection that waits is open, and what its client sends is read when its turn comes.
 */
export function shareHandshakes(server: TlsServer, most = mostHandshakes): void {
  const shares = new FairShares({ all: most });
  const pending = new Map<string, Share>();
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    const id = idOf(socket);
    const share = shares.ask({ user: networkOf(addressOf(socket)), key: "" }, 1);
    pending.set(id, share);
    socket.once("close", () => {
      if (pending.get(id) === share) pending.delete(id);
      share.end();
    });
    // Until its turn, an error of the socket has no listener.
    socket.on("error", () => {});
    share.enter(() => {
      for (const listener of listeners) listener.call(server, socket);
    });
  });
  server.on("secureConnection", (socket: TLSSocket) => {
    const id = idOf(socket);
    pending.get(id)?.end();
    pending.delete(id);
  });
}
