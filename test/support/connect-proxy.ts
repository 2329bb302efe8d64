import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { Duplex } from "node:stream";

/** An HTTP proxy for TLS connections, which it does not open. */
export interface ConnectProxy {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Starts a proxy on 127.0.0.1 that stands for DNS and for a load balancer: it connects each
 * `host:port` of the routes to the URL there, and refuses all others.
 */
export async function startConnectProxy(
  routes: Readonly<Record<string, string>>,
): Promise<ConnectProxy> {
  const sockets = new Set<Duplex>();
  const keep = (socket: Duplex): void => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  };
  const server = createServer((_, response) => response.writeHead(405).end());
  server.on("connect", ({ url = "" }, client) => {
    keep(client);
    const target = routes[url];
    if (target === undefined) return client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    const { hostname, port } = new URL(target);
    const upstream = connect(Number(port), hostname, () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      client.pipe(upstream).pipe(client);
    });
    keep(upstream);
    upstream.on("close", () => client.destroy());
    client.on("close", () => upstream.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${isAddress(address) ? address.port : 0}`,
    stop() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function isAddress(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === "object" && address !== null;
}
