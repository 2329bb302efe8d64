import type { Http2Server } from "node:http2";
import type { Server } from "node:https";
import type { TLSSocket } from "node:tls";
import { sleep } from "./clock.ts";
import { ConnectionPool, recordConnections } from "./connection-pool.ts";
import { frontLimits, type FrontServerOptions, lingerMs } from "./front-options.ts";
import { shareHandshakes } from "./handshakes.ts";
import type { ServerTls } from "./http-server.ts";
import { http1Server } from "./http1.ts";
import { http2Server } from "./http2.ts";
import { UnreadAnswers } from "./unread-answers.ts";

const drainIdleMs = 10_000;

/** A server that listens for HTTP/1.1 and HTTP/2 over TLS on one port. */
export interface FrontServer {
  readonly port: number;
  /** Other material for the connections to come. */
  useTls(material: Pick<ServerTls, "certificate" | "privateKey">): void;
  connections(): number;
  /**
   * Ends each connection with its next answer, and idle ones after 10 seconds: a request may be on
   * its way over them. Over HTTP/2, the end comes 2 seconds after the last answer. Resolves when
   * none is left, or after `mostMs`, when the rest is closed.
   */
  drain(mostMs: number): Promise<void>;
}

/** Starts a front server; rejects when the address cannot be listened on. */
export async function startFrontServer(options: FrontServerOptions): Promise<FrontServer> {
  const limits = { ...frontLimits, ...options.limits };
  const sockets = new Set<TLSSocket>();
  const sessions = new Set<() => void>();
  let isDraining = false;
  let onEmpty = (): void => {};
  const { clock, onRefused = () => {} } = options;
  const connections = new ConnectionPool(limits.connections, () => onRefused("connection"));
  const unread = new UnreadAnswers({ clock, most: limits.unread, mostMs: limits.unreadMs });
  const server = http1Server(options, { limits, connections, unread, isClosing: () => isDraining });
  const http2 = http2Server(options, { limits, connections, unread, sessions });
  recordConnections(server, connections);
  divideByProtocol(server, http2, (socket) => {
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      if (sockets.size === 0) onEmpty();
    });
    if (socket.alpnProtocol === "h2") closeWhenEnded(socket, clock);
  });
  shareHandshakes(server);
  await listening(server, options);
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    useTls: ({ certificate, privateKey }) =>
      server.setSecureContext({ cert: certificate, key: privateKey, minVersion: "TLSv1.2" }),
    connections: () => sockets.size,
    async drain(mostMs) {
      isDraining = true;
      for (const leave of sessions) leave();
      const empty = new AbortController();
      onEmpty = () => empty.abort();
      const waitEmpty = (ms: number): Promise<void> =>
        sockets.size === 0 || ms <= 0
          ? Promise.resolve()
          : sleep(ms, { clock, signal: empty.signal });
      const idleMs = Math.min(drainIdleMs, mostMs);
      await waitEmpty(idleMs);
      server.closeIdleConnections();
      await waitEmpty(mostMs - idleMs);
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Node ends a session in order and leaves the connection to its client, which may keep it. */
function closeWhenEnded(socket: TLSSocket, clock: FrontServerOptions["clock"]): void {
  socket.once("finish", () =>
    socket.once(
      "close",
      clock.wakeAfter(lingerMs, () => socket.destroy()),
    ),
  );
}

/** Gives each connection to the server of the protocol that its handshake chose (RFC 7301). */
function divideByProtocol(
  server: Server,
  http2: Http2Server,
  onConnection: (socket: TLSSocket) => void,
): void {
  const [http1] = server.listeners("secureConnection");
  server.removeAllListeners("secureConnection");
  server.on("secureConnection", (socket: TLSSocket) => {
    onConnection(socket);
    if (socket.alpnProtocol === "h2") http2.emit("connection", socket);
    else http1?.call(server, socket);
  });
}

function listening(
  server: Server,
  { host, port }: Pick<FrontServerOptions, "host" | "port">,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
