import type { Metrics } from "./metrics.ts";

/** Who is at the other end of the connection. */
export interface Peer {
  /**
   * The common name of a client certificate that the server's client authority signed; undefined of
   * none.
   */
  readonly clientName: string | undefined;
  /** That certificate, in PEM. */
  readonly certificate?: string;
}

/**
 * A request as a value; the Request of the Fetch standard would cost five times as much as all that
 * is done with it.
 */
export interface HttpRequest {
  readonly method: string;
  /** As it was sent, without the query. */
  readonly path: string;
  readonly body: string;
}

/** An answer as a value; names of headers in lower case. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Answers a request; has no socket, so that tests call it directly. */
export type Handler = (request: HttpRequest, peer: Peer) => Promise<HttpResponse> | HttpResponse;

/** Looks at a request before its body is read: the answer that refuses it, or undefined. */
export type Gate = (
  head: Pick<HttpRequest, "method" | "path">,
  peer: Peer,
) => HttpResponse | undefined;

/** What is served under exactly this path for this method; GET serves HEAD too. */
export interface Route {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly handler: Handler;
  /** Refuses some peers. */
  readonly refuses?: (peer: Peer) => HttpResponse | undefined;
  /** Whether it is served below a first path segment that only some know, and not without it. */
  readonly isHidden?: boolean;
}

/** Whether a first path segment is the one below which hidden routes are. */
export type IsHiddenSegment = (segment: string) => boolean;

/**
 * Whether the process can do its work now; `reasons` say what is missing, `warnings` what will be
 * if nobody acts.
 */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
  readonly warnings?: readonly string[];
}

/**
 * A handler that asks the route of the request: 404 for an unknown path, 405 with `Allow` for
 * another method.
 */
export function routed(routes: readonly Route[], isHiddenSegment?: IsHiddenSegment): Handler {
  return (request, peer) => {
    const found = find(routes, request, isHiddenSegment);
    return "status" in found ? found : (found.refuses?.(peer) ?? found.handler(request, peer));
  };
}

/** The same decision without the handler. */
export function gateOf(routes: readonly Route[], isHiddenSegment?: IsHiddenSegment): Gate {
  return (head, peer) => {
    const found = find(routes, head, isHiddenSegment);
    return "status" in found ? found : found.refuses?.(peer);
  };
}

/** Both, as a server takes them. */
export function served(
  routes: readonly Route[],
  isHiddenSegment?: IsHiddenSegment,
): { readonly handler: Handler; readonly gate: Gate } {
  return { handler: routed(routes, isHiddenSegment), gate: gateOf(routes, isHiddenSegment) };
}

function find(
  routes: readonly Route[],
  { method, path }: Pick<HttpRequest, "method" | "path">,
  isHiddenSegment: IsHiddenSegment = () => false,
): Route | HttpResponse {
  const end = path.indexOf("/", 1);
  const hidden = end > 0 && isHiddenSegment(path.slice(1, end)) ? path.slice(end) : undefined;
  const here = routes.filter((route) => route.path === (route.isHidden === true ? hidden : path));
  if (here.length === 0) return plain(404, "not found");
  const asked = method === "HEAD" ? "GET" : method;
  return (
    here.find((route) => route.method === asked) ??
    plain(405, "method not allowed", { allow: here.map((route) => route.method).join(", ") })
  );
}

/** `/metrics`, in Prometheus' text format. */
export function metricsRoute(metrics: Pick<Metrics, "render">): Route {
  async function handler(): Promise<HttpResponse> {
    const { contentType, text } = await metrics.render();
    return { status: 200, headers: { "content-type": contentType }, body: text };
  }
  return { method: "GET", path: "/metrics", handler };
}

/** `/healthz`: 200 as long as the process answers at all. */
export function healthRoute(): Route {
  return { method: "GET", path: "/healthz", handler: () => plain(200, "ok") };
}

/**
 * `/readyz`: 200 when ready, else 503 with the reasons, one on a line; warnings change no status.
 */
export function readyRoute(readiness: () => Readiness): Route {
  function handler(): HttpResponse {
    const { ready, reasons, warnings = [] } = readiness();
    const lines = [
      ...(ready ? ["ok"] : ["not ready", ...reasons]),
      ...warnings.map((warning) => `warning: ${warning}`),
    ];
    return plain(ready ? 200 : 503, lines.join("\n"));
  }
  return { method: "GET", path: "/readyz", handler };
}

/** A text of one or more lines as an answer. */
export function plain(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  return {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", ...headers },
    body: `${text}\n`,
  };
}

/** A value as an answer in JSON. */
export function json(value: unknown, headers: Readonly<Record<string, string>> = {}): HttpResponse {
  return {
    status: 200,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(value),
  };
}
