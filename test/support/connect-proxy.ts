import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect } from "node:net";
import { endServer, KeptSockets, listenLocally } from "./local-server.ts";

/** An HTTP proxy for TLS connections, which it does not open. */
export interface ConnectProxy {
  readonly url: string;
  /** Each `host:port` that was asked for. */
  readonly asked: readonly string[];
  /** Refuses everything with this status from now on; undefined: no more. */
  refuse(status: number | undefined): void;
  stop(): Promise<void>;
}

/** How a proxy listens, and whom it serves. */
interface ConnectProxyOptions {
  /** The path of a Unix socket. */
  readonly socket?: string;
  /** The certificate of a proxy that speaks TLS with its clients. */
  readonly tls?: { readonly certificate: string; readonly privateKey: string };
  /** `user:password` of its only client; default: it serves all. */
  readonly login?: string;
}

/**
 * Starts a proxy on 127.0.0.1, or on a Unix socket, that stands for DNS and for a load balancer: it connects each
 * `host:port` of the routes to the URL there, and refuses all others.
 */
export async function startConnectProxy(
  routes: Readonly<Record<string, string>>,
  { socket, tls, login }: ConnectProxyOptions = {},
): Promise<ConnectProxy> {
  const sockets = new KeptSockets();
  const asked: string[] = [];
  let refused: number | undefined;
  const server: Server =
    tls === undefined
      ? createServer()
      : createTlsServer({ cert: tls.certificate, key: tls.privateKey });
  server.on("request", (_, response) => response.writeHead(405).end());
  const expected = login && `Basic ${Buffer.from(login).toString("base64")}`;
  server.on("connect", ({ url = "", headers }, client) => {
    sockets.keep(client);
    asked.push(url);
    const target = routes[url];
    const isKnown = expected === undefined || headers["proxy-authorization"] === expected;
    const status = refused ?? (isKnown ? undefined : 407) ?? (target === undefined ? 502 : 200);
    if (status !== 200 || target === undefined)
      return client.end(`HTTP/1.1 ${status} No\r\nContent-Length: 6\r\n\r\ncanary`);
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
  const scheme = tls === undefined ? "http" : "https";
  const url = socket ?? `${scheme}://127.0.0.1:${await listenLocally(server)}`;
  return {
    url,
    asked,
    refuse: (status) => void (refused = status),
    stop() {
      server.closeAllConnections();
      return endServer(server, sockets);
    },
  };
}
