import type { PassiveClock } from "../runtime/clock.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Peer } from "../runtime/peer.ts";
import {
  type Handler,
  type Route,
  type HttpRequest,
  type HttpResponse,
  plain,
} from "../runtime/routes.ts";

/** Dependencies of {@link timed}. */
interface TimedDeps {
  /** Records the client certificate (PEM) that kube-apiserver presents. */
  readonly certificates: { shown(certificate: string | undefined): void };
  readonly clock: PassiveClock;
  readonly metrics: Metrics;
}

/** A review that only kube-apiserver may request. */
interface Review {
  readonly path: string;
  readonly handler: Handler;
}

/** The route of a review; every client but kube-apiserver gets one and the same refusal. */
export function reviewRoute({ path, handler }: Review, deps: TimedDeps): Route {
  return {
    method: "POST",
    path,
    handler: timed(path, handler, deps),
    refuses: requireApiServer,
  };
}

/**
 * Wraps the handler of a path: counts its requests, and records the client certificate of
 * kube-apiserver.
 */
export function timed(
  path: string,
  handler: Handler,
  { certificates, clock, metrics }: TimedDeps,
): Handler {
  const counted = webhookMetrics(path, metrics);
  return async (request, peer) => {
    if (peer.clientName === apiServerName) certificates.shown(peer.certificate);
    const began = clock.monotonic();
    counted.began();
    let code = 500;
    try {
      const response = await handler(request, peer);
      code = response.status;
      return response;
    } finally {
      counted.ended(code, (clock.monotonic() - began) / 1000);
    }
  };
}

/** The metrics of a path of the webhook. */
function webhookMetrics(webhook: string, metrics: Metrics) {
  const inFlight = metrics.gauge("controller_runtime_webhook_requests_in_flight", { webhook });
  const durations = metrics.histogram("controller_runtime_webhook_latency_seconds", { webhook });
  const requests = (code: string) =>
    metrics.counter("controller_runtime_webhook_requests_total", { webhook, code });
  inFlight.set(0);
  for (const code of ["200", "500"]) requests(code);
  return {
    began: () => inFlight.inc(),
    ended(code: number, seconds: number): void {
      inFlight.dec();
      requests(String(code)).inc();
      durations.observe(seconds);
    },
  };
}

/** Returns a function that counts reviews of a kind by result. */
export function reviewCounter<Result extends string>(
  kind: "token" | "access" | "admission",
  results: readonly Result[],
  metrics: Metrics,
): (result: Result) => void {
  return metrics.counterOf("latchkey_reviews_total", results, (result) => ({ kind, result }));
}

/** Parses the body of a request as JSON; undefined if it is invalid. */
export function readJson({ body }: HttpRequest): unknown {
  try {
    const parsed: unknown = JSON.parse(body);
    return parsed;
  } catch {
    // The error is dropped, because it quotes the body.
    return undefined;
  }
}

/** The response to a body that is not a valid review. */
export function badReview(kind: string, apiVersion: string): HttpResponse {
  return plain(
    400,
    `request body is not a valid ${kind} of ${apiVersion}; start kube-apiserver with the flags ` +
      "and files of kubectl latchkey trust-config --authorization",
  );
}

/** The common name of the certificate that kube-apiserver presents. */
export const apiServerName = "latchkey:kube-apiserver";

/**
 * Refuses every client except kube-apiserver, by its client certificate: any other client could try
 * keys.
 */
export function requireApiServer({ clientName }: Peer): HttpResponse | undefined {
  if (clientName === apiServerName) return undefined;
  return plain(
    401,
    `client certificate of Latchkey's CA with CN "${apiServerName}" required; see kubectl ` +
      "latchkey trust-config --authorization",
  );
}
