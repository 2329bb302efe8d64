import type { IncomingMessage, ServerResponse } from "node:http";
import type { BodyBudget } from "./body-budget.ts";
import { ByteCollector } from "./byte-collector.ts";
import type { Clock } from "./clock.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import type { Logger } from "./log.ts";
import { idOf, peerOf } from "./peer.ts";
import {
  plain,
  revalidated,
  type Gate,
  type Handler,
  type HttpRequest,
  type HttpResponse,
  type Peer,
} from "./routes.ts";

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
  readonly connections: ConnectionPool;
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

/** The result of reading a body; a whole body keeps its bytes reserved until `release`. */
type Body =
  | { readonly kind: "whole"; readonly text: string; release(): void }
  | { readonly kind: "too-large" | "overloaded" | "too-slow" | "broken" };

/** Dependencies of {@link readBody}. */
interface BodyDeps {
  readonly clock: Pick<Clock, "wakeAfter">;
  /** Maximum size of a body in bytes. */
  readonly most: number;
  readonly budget: BodyBudget;
  /** Who sends it: a client name, or an address. */
  readonly sender: string;
}

/** Timeouts of a body: without progress, and in total. */
export const bodyPatience = { silentMs: 3_000, wholeMs: 10_000 } as const;

/** Whether a request has a body, by its headers (RFC 9112, section 6.3). */
export function hasBody({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Reads the body of a request; checks Content-Length before it reads the first byte. */
export function readBody(
  incoming: IncomingMessage,
  { clock, most, budget, sender }: BodyDeps,
): Promise<Body> {
  if (Number(incoming.headers["content-length"] ?? 0) > most)
    return Promise.resolve({ kind: "too-large" });
  return new Promise((resolve) => {
    const collected = new ByteCollector(most);
    const settle = (body: Body): void => {
      cancelSilence();
      cancelWhole();
      incoming.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken);
      if (body.kind === "whole") share.completed();
      else share.release();
      resolve(body);
    };
    const giveUp = (): void => settle({ kind: "too-slow" });
    const onBroken = (): void => settle({ kind: "broken" });
    const onEnd = (): void =>
      settle({
        kind: "whole",
        text: collected.take().toString("utf8"),
        release: () => share.release(),
      });
    const onData = (chunk: Buffer): void => {
      if (collected.length + chunk.length > most) return settle({ kind: "too-large" });
      if (!share.take(chunk.length)) return settle({ kind: "overloaded" });
      collected.add(chunk);
      cancelSilence();
      cancelSilence = clock.wakeAfter(bodyPatience.silentMs, giveUp);
    };
    const share = budget.open(sender, () => settle({ kind: "overloaded" }));
    let cancelSilence = clock.wakeAfter(bodyPatience.silentMs, giveUp);
    const cancelWhole = clock.wakeAfter(bodyPatience.wholeMs, giveUp);
    incoming.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken);
  });
}
