import type { IncomingMessage, ServerResponse } from "node:http";
import { BodyBudget } from "./body-budget.ts";
import type { Timers } from "./clock.ts";
import type { Connection, ConnectionLimits } from "./connection-pool.ts";
import type { Logger } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { networkOf, type Peer, peerOf } from "./peer.ts";
import { type Body, hasBody, readBody } from "./read-body.ts";
import {
  type Gate,
  type Handler,
  type HttpRequest,
  type HttpResponse,
  plain,
  type RequestLine,
  revalidated,
} from "./routes.ts";
import { httpLimits, type ServerTls } from "./server-options.ts";
import { type Server, startServer } from "./server.ts";

/** Options of a server; port 0 is any free port. */
interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  readonly handler: Handler;
  /** Checks a request before its body is read; default: accepts every request. */
  readonly gate?: Gate;
  /** Called with what was refused to protect the server. */
  readonly onRefused?: (refused: HttpRefusal) => void;
  readonly clock: Timers;
  readonly log: Logger;
  /** Maximum size of a request body in bytes; default: 1 MiB. */
  readonly maximumBodyBytes?: number;
  /** Serves HTTPS with optional client certificates. */
  readonly tls?: ServerTls;
  /** Default: those of {@link httpLimits}. */
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

/** A listening server that answers requests itself. */
export interface HttpServer extends Server {
  /** Bytes of the bodies of pending requests, of clients with and without a certificate. */
  bodyBytes(): { readonly certified: number; readonly others: number };
}

const defaultBodyBytes = 1_048_576;
/**
 * For clients with and for clients without a certificate each, so that neither blocks the other.
 */
const mostBodyBytes = 8 * 1_048_576;

/** Serves `handler` over HTTP/1.1; rejects if it cannot listen on the address. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { connections = httpLimits.connections, onRefused = () => {} } = options;
  const budgets = {
    certified: new BodyBudget(mostBodyBytes),
    others: new BodyBudget(mostBodyBytes),
  };
  const server = await startServer({
    ...options,
    onRefused,
    limits: { ...httpLimits, connections },
    onRequest: (incoming, outgoing, serving) =>
      void serve(incoming, outgoing, { ...options, ...serving, onRefused, budgets }),
  });
  return {
    ...server,
    bodyBytes: () => ({ certified: budgets.certified.used, others: budgets.others.used }),
  };
}

/** How a request is answered. */
interface ServeOptions extends HttpServerOptions {
  readonly onRefused: (refused: HttpRefusal) => void;
  readonly budgets: { readonly certified: BodyBudget; readonly others: BodyBudget };
  readonly connection: Connection;
  readonly isClosing: () => boolean;
}

/** Reads a request, calls the handler and sends the response. */
async function serve(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  options: ServeOptions,
): Promise<void> {
  const { connection, isClosing, log } = options;
  try {
    const peer = peerOf(incoming.socket);
    const head = headOf(incoming);
    const found = head === undefined ? plain(400, "bad request") : options.gate?.(head, peer);
    const refusal = found !== undefined && "status" in found ? found : undefined;
    if (found !== undefined && "isHidden" in found && found.isHidden === true)
      connection.accepted(peer.clientName ?? networkOf(peer.address));
    const body =
      refusal === undefined && hasBody(incoming) ? await bodyOf(incoming, peer, options) : noBody;
    if (head === undefined || refusal !== undefined || body.kind !== "whole") {
      // A connection with an unread body cannot carry another request.
      if (hasBody(incoming) || peer.clientName === undefined || isClosing())
        outgoing.setHeader("connection", "close");
      return send(refusal ?? refusalOf(body, options), outgoing);
    }
    const request = connection.began();
    try {
      const onClose = (listener: () => void): void => void outgoing.once("close", listener);
      const response = await answer({ ...head, body: body.text, onClose }, peer, options);
      if (isClosing()) outgoing.setHeader("connection", "close");
      send(revalidated(response, incoming.headers["if-none-match"]), outgoing);
    } finally {
      body.release();
      request.closed();
    }
  } catch (error) {
    log.debug({ error }, "client closed the connection");
    outgoing.destroy();
  }
}

const noBody: Body = { kind: "whole", text: "", release() {} };

/**
 * Parses method, path and query; undefined for an unknown method and for a target that is not a
 * path: `*`, an authority or an absolute URL (RFC 9112, section 3.2).
 */
function headOf({ method = "GET", url = "" }: IncomingMessage): RequestLine | undefined {
  if (!url.startsWith("/") || !methods.has(method)) return undefined;
  const end = url.indexOf("?");
  return end < 0
    ? { method, path: url }
    : { method, path: url.slice(0, end), query: url.slice(end + 1) };
}

function bodyOf(
  incoming: IncomingMessage,
  { clientName, address }: Peer,
  { clock, maximumBodyBytes: most = defaultBodyBytes, budgets }: ServeOptions,
): Promise<Body> {
  return readBody(incoming, {
    clock,
    most,
    budget: clientName === undefined ? budgets.others : budgets.certified,
    sender: clientName ?? networkOf(address),
  });
}

const refusals = {
  "too-large": plain(413, "request body too large"),
  "too-slow": plain(408, "request body timed out"),
  overloaded: plain(503, "too many concurrent requests; retry", { "retry-after": "1" }),
} as const;

function refusalOf({ kind }: Body, { onRefused }: ServeOptions): HttpResponse {
  if (kind === "whole" || kind === "broken") return plain(400, "bad request");
  onRefused(kind);
  return refusals[kind];
}

async function answer(
  request: HttpRequest,
  peer: Peer,
  { handler, log }: ServeOptions,
): Promise<HttpResponse> {
  try {
    return await handler(request, peer);
  } catch (error) {
    log.error({ method: request.method, path: request.path, error }, "handler failed");
    return plain(500, "internal error");
  }
}

const methods: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
]);

function send({ status, headers, body }: HttpResponse, outgoing: ServerResponse): void {
  // The length of a 304 would be that of the content that the client has.
  const length = status === 304 ? {} : { "content-length": Buffer.byteLength(body) };
  outgoing.writeHead(status, { ...headers, ...length });
  outgoing.end(body);
}
