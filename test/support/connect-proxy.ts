import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { endServer, KeptSockets, listenLocally } from "./local-server.ts";

/** An HTTP proxy for TLS connections, which it does not open. */
export interface ConnectProxy {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Starts a proxy on 127.0.0.1, or on a Unix socket, that stands for DNS and for a load balancer: it connects each
 * `host:port` of the routes to the URL there, and refuses all others.
 */
export async function startConnectProxy(
  routes: Readonly<Record<string, string>>,
  { socket }: { readonly socket?: string } = {},
): Promise<ConnectProxy> {
  const sockets = new KeptSockets();
  const server = createServer((_, response) => response.writeHead(405).end());
  server.on("connect", ({ url = "" }, client) => {
    sockets.keep(client);
    const target = routes[url];
    if (target === undefined) return client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    const { hostname, port } = new URL(target);
    const upstream = connect(Number(port), hostname, () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      client.pipe(upstream).pipe(client);
    });
    sockets.keep(upstream);
    upstream.on("close", () => client.destroy());
    client.on("close", () => upstream.destroy());
  });
  if (socket !== undefined) await once(server.listen(socket), "listening");
  const url = socket ?? `http://127.0.0.1:${await listenLocally(server)}`;
  return {
    url,
    stop() {
      server.closeAllConnections();
      return endServer(server, sockets);
    },
  };
}
