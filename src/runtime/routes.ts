import type { Metrics } from "./metrics.ts";

/** Who is at the other end of the connection. */
export interface Peer {
  /** The common name of a client certificate that the server's client authority signed; undefined of none. */
  readonly clientName: string | undefined;
}

/** A request as a value; the Request of the Fetch standard would cost five times as much as all that is done with it. */
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

/** What is served under exactly this path for this method; GET serves HEAD too. */
export interface Route {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly handler: Handler;
}

/** Whether the process can do its work now; `reasons` say what is missing. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

/** A handler that asks the route of the request: 404 for an unknown path, 405 with `Allow` for another method. */
export function routed(routes: readonly Route[]): Handler {
  return (request, peer) => {
    const here = routes.filter(({ path }) => path === request.path);
    if (here.length === 0) return plain(404, "not found");
    const method = request.method === "HEAD" ? "GET" : request.method;
    const route = here.find((candidate) => candidate.method === method);
    if (route !== undefined) return route.handler(request, peer);
    return plain(405, "method not allowed", { allow: here.map((candidate) => candidate.method).join(", ") });
  };
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

/** `/readyz`: 200 when ready, else 503 with the reasons, one on a line. */
export function readyRoute(readiness: () => Readiness): Route {
  function handler(): HttpResponse {
    const { ready, reasons } = readiness();
    return ready ? plain(200, "ok") : plain(503, ["not ready", ...reasons].join("\n"));
  }
  return { method: "GET", path: "/readyz", handler };
}

/** A text of one or more lines as an answer. */
export function plain(status: number, text: string, headers: Readonly<Record<string, string>> = {}): HttpResponse {
  return { status, headers: { "content-type": "text/plain; charset=utf-8", ...headers }, body: `${text}\n` };
}

/** A value as an answer in JSON. */
export function json(value: unknown, headers: Readonly<Record<string, string>> = {}): HttpResponse {
  return { status: 200, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
}
