import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import { TLSSocket } from "node:tls";
import type { Clock } from "./clock.ts";
import type { Logger } from "./log.ts";
import { plain } from "./routes.ts";
import type { Handler, HttpRequest, HttpResponse, Peer } from "./routes.ts";

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
  readonly clock: Pick<Clock, "wakeAfter">;
  readonly log: Logger;
  /** Longest request body in bytes; 1 MiB unless given. */
  readonly maximumBodyBytes?: number;
  /** Serves HTTPS; clients may show a certificate. */
  readonly tls?: ServerTls;
}

/** A server that listens. */
export interface HttpServer {
  /** `http://host:port` or `https://host:port`, with the port it really has. */
  readonly url: string;
  readonly port: number;
  /** Other material for the connections to come; those that are open stay. */
  useTls(material: ServerTls): void;
  /** Takes no more connections, lets the requests under way end, and cuts what is left after `graceMs` milliseconds. */
  close(graceMs: number): Promise<void>;
}

/** Milliseconds and bytes that keep a slow or greedy client from holding on to the server. */
const limits = {
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 5_000,
} as const;
const defaultBodyBytes = 1_048_576;

/** Serves `handler` over HTTP/1.1; rejects when the address cannot be listened on. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const listener = (incoming: IncomingMessage, outgoing: ServerResponse): void => void serve(incoming, outgoing, { ...options, isClosing: () => !server.listening });
  const secure = options.tls && createTlsServer({ ...limits, ...contextOf(options.tls), requestCert: true, rejectUnauthorized: false }, listener);
  const server = secure ?? createServer(limits, listener);
  await listening(server, options);
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : options.port;
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  return {
    url: `${secure === undefined ? "http" : "https"}://${host}:${port}`,
    port,
    useTls: (material) => secure?.setSecureContext(contextOf(material)),
    close: (graceMs) => close(server, graceMs, options.clock),
  };
}

function contextOf({ certificate, privateKey, clientAuthority }: ServerTls): { readonly cert: string; readonly key: string; readonly ca: string; readonly minVersion: "TLSv1.2" } {
  return { cert: certificate, key: privateKey, ca: clientAuthority, minVersion: "TLSv1.2" };
}

const nobody: Peer = { clientName: undefined };

/** Reading a certificate takes longer than most answers; it stays the same as long as the connection. */
const peers = new WeakMap<TLSSocket, Peer>();

/** The client of a connection, if the authority signed its certificate and it may be shown by clients. */
function peerOf({ socket }: IncomingMessage): Peer {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return nobody;
  const known = peers.get(socket);
  if (known !== undefined) return known;
  const name: unknown = socket.getPeerCertificate().subject?.CN;
  const peer: Peer = { clientName: typeof name === "string" ? name : undefined };
  peers.set(socket, peer);
  return peer;
}

interface ServeOptions extends HttpServerOptions {
  readonly isClosing: () => boolean;
}

async function serve(incoming: IncomingMessage, outgoing: ServerResponse, options: ServeOptions): Promise<void> {
  try {
    const body = await readBody(incoming, options.maximumBodyBytes ?? defaultBodyBytes);
    const response = body === undefined ? plain(413, "body too large") : await answer(incoming, body, options);
    if (body === undefined || options.isClosing()) outgoing.setHeader("connection", "close");
    send(response, outgoing);
  } catch (error) {
    options.log.debug({ error }, "client went away");
    outgoing.destroy();
  }
}

async function answer(incoming: IncomingMessage, body: string, { handler, log }: HttpServerOptions): Promise<HttpResponse> {
  const { method = "GET", url = "" } = incoming;
  // No target of a server that is no proxy: `*`, an authority or an absolute URL (RFC 9112, section 3.2).
  if (!url.startsWith("/") || !methods.has(method)) return plain(400, "bad request");
  const request: HttpRequest = { method, path: url.split("?", 1)[0] ?? "", body };
  try {
    return await handler(request, peerOf(incoming));
  } catch (error) {
    log.error({ method, path: request.path, error }, "handler failed");
    return plain(500, "internal error");
  }
}

const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

async function readBody(incoming: IncomingMessage, mostBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // A stream that is destroyed takes the socket with it, and the answer could not be sent.
  for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes > mostBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function send({ status, headers, body }: HttpResponse, outgoing: ServerResponse): void {
  outgoing.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
  outgoing.end(body);
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

function close(server: Server | TlsServer, graceMs: number, clock: Pick<Clock, "wakeAfter">): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.wakeAfter(graceMs, () => server.closeAllConnections());
    server.close(() => {
      cancel();
      resolve();
    });
    server.closeIdleConnections();
  });
}
