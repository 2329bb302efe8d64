import type { Metrics } from "./metrics.ts";
import type { Peer } from "./peer.ts";

/** What a request asks for. */
export interface RequestLine {
  readonly method: string;
  /** The path as sent, without the query. */
  readonly path: string;
  /** The query as sent, without the question mark; absent without one. */
  readonly query?: string;
}

/**
 * A request as a plain value: the Request of the Fetch standard takes five times as long as
 * handling the request.
 */
export interface HttpRequest extends RequestLine {
  readonly body: string;
  /** Calls a listener once the connection is closed or the response was sent. */
  readonly onClose?: (listener: () => void) => void;
}

/** A response as a plain value; header names are in lower case. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Handles a request; independent of sockets, so that tests call it directly. */
export type Handler = (request: HttpRequest, peer: Peer) => Promise<HttpResponse> | HttpResponse;

/**
 * Checks a request before its body is read; returns the response that refuses it, or the route that
 * will serve it.
 */
export type Gate = (line: RequestLine, peer: Peer) => HttpResponse | Route;

/** A handler for exactly this path and method; GET includes HEAD. */
export interface Route {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly handler: Handler;
  /** Returns a response for a client that may not use the route. */
  readonly refuses?: (peer: Peer) => HttpResponse | undefined;
  /** Whether the route is served only below the secret first path segment. */
  readonly isHidden?: boolean;
}

/** Whether a first path segment is the secret one of hidden routes. */
export type IsHiddenSegment = (segment: string) => boolean;

/**
 * Whether the process is ready; `reasons` state why not, `warnings` state what will make it unready
 * without action.
 */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
  readonly warnings?: readonly string[];
}

/**
 * Creates a handler that dispatches to routes: 404 for an unknown path, 405 with `Allow` for
 * another method.
 */
export function routed(routes: readonly Route[], isHiddenSegment?: IsHiddenSegment): Handler {
  return (request, peer) => {
    const found = find(routes, request, isHiddenSegment);
    return "status" in found ? found : (found.refuses?.(peer) ?? found.handler(request, peer));
  };
}

/**
 * Creates the gate of these routes: refuses what {@link routed} refuses, before the body is read.
 */
export function gateOf(routes: readonly Route[], isHiddenSegment?: IsHiddenSegment): Gate {
  return (line, peer) => {
    const found = find(routes, line, isHiddenSegment);
    return "status" in found ? found : (found.refuses?.(peer) ?? found);
  };
}

/** The handler and the gate of routes, as options of a server. */
export function served(
  routes: readonly Route[],
  isHiddenSegment?: IsHiddenSegment,
): { readonly handler: Handler; readonly gate: Gate } {
  return { handler: routed(routes, isHiddenSegment), gate: gateOf(routes, isHiddenSegment) };
}

function find(
  routes: readonly Route[],
  { method, path }: RequestLine,
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

/**
 * The response to a conditional request: 304 without a body if the client has this content already
 * (RFC 9110, section 13.1.2).
 */
export function revalidated(response: HttpResponse, ifNoneMatch: string | undefined): HttpResponse {
  const { etag } = response.headers;
  const known = (ifNoneMatch ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  const isKnown = etag !== undefined && (known.includes(etag) || known.includes("*"));
  return response.status === 200 && isKnown ? { ...response, status: 304, body: "" } : response;
}

/** `/metrics`, in Prometheus' text format. */
export function metricsRoute(metrics: Metrics): Route {
  async function handler(): Promise<HttpResponse> {
    const { contentType, text } = await metrics.render();
    return { status: 200, headers: { "content-type": contentType }, body: text };
  }
  return { method: "GET", path: "/metrics", handler };
}

/** `/healthz`: 200, or 503 with the reasons for which only a restart helps. */
export function healthRoute(restartReasons: () => readonly string[] = () => []): Route {
  function handler(): HttpResponse {
    const reasons = restartReasons();
    return reasons.length === 0
      ? plain(200, "ok")
      : plain(503, ["not live", ...reasons].join("\n"));
  }
  return { method: "GET", path: "/healthz", handler };
}

/**
 * `/readyz`: 200 when ready, else 503 with one reason per line; warnings do not change the status.
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

/** Creates a plain text response of one or more lines. */
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

/** Creates a JSON response. */
export function json(value: unknown, headers: Readonly<Record<string, string>> = {}): HttpResponse {
  return {
    status: 200,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(value),
  };
}
