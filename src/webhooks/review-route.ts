import type { Clock } from "../runtime/clock.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Handler, Route } from "../runtime/routes.ts";
import { apiServerName, requireApiServer } from "./client-credentials.ts";

/** Dependencies of {@link timed}. */
interface TimedDeps {
  /** Records the client certificate (PEM) that kube-apiserver presents. */
  readonly certificates: { shown(certificate: string | undefined): void };
  readonly clock: Pick<Clock, "monotonic">;
  readonly metrics: Pick<Metrics, "webhook">;
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
  const counted = metrics.webhook(path);
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
