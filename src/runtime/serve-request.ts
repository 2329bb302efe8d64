import type { IncomingMessage, ServerResponse } from "node:http";
import type { BodyBudget } from "./body-budget.ts";
import { type Body, hasBody, readBody } from "./body.ts";
import type { Clock } from "./clock.ts";
import type { Connections } from "./connections.ts";
import type { Logger } from "./log.ts";
import { idOf, peerOf } from "./peer.ts";
import { plain, revalidated } from "./routes.ts";
import type { Gate, Handler, HttpRequest, HttpResponse, Peer } from "./routes.ts";

const defaultBodyBytes = 1_048_576;

/** Options of {@link serve}; most of them are those of the server. */
interface ServeOptions {
  readonly handler: Handler;
  readonly gate?: Gate;
  readonly clock: Pick<Clock, "wakeAfter">;
  readonly log: Logger;
  readonly maximumBodyBytes?: number;
  readonly isClosing: () => boolean;
  readonly onRefused: (refused: keyof typeof refusals) => void;
  readonly connections: Connections;
  readonly budgets: { readonly certified: BodyBudget; readonly others: BodyBudget };
}

/** Reads a request, calls the handler and sends the response. */
export async function serve(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  options: ServeOptions,
): Promise<void> {
  const { connections, isClosing, log } = options;
  const connection = connections.of(idOf(incoming.socket));
  try {
    const peer = peerOf(incoming.socket);
    const head = headOf(incoming);
    const found = head === undefined ? plain(400, "bad request") : options.gate?.(head, peer);
    const refusal = found !== undefined && "status" in found ? found : undefined;
    if (found !== undefined && "isHidden" in found && found.isHidden === true)
      connection.accepted(peer.clientName ?? peer.address);
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
 * Parses method, path and query; undefined for an unknown method and for a target that is not a path: `*`,
 * an authority or an absolute URL (RFC 9112, section 3.2).
 */
function headOf({
  method = "GET",
  url = "",
}: IncomingMessage): Omit<HttpRequest, "body" | "onClose"> | undefined {
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
    sender: clientName ?? address,
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
