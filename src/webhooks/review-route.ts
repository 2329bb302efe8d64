import type { Clock } from "../runtime/clock.ts";
import type { Metrics, ReviewKind } from "../runtime/metrics.ts";
import type { Handler, Route } from "../runtime/routes.ts";
import { apiServerName, requireApiServer } from "./client-credentials.ts";

/** Dependencies of {@link timed}. */
export interface TimedDeps {
  /** Records the client certificate (PEM) that kube-apiserver presents. */
  readonly certificates: { shown(certificate: string | undefined): void };
  readonly clock: Pick<Clock, "monotonic">;
  readonly metrics: Pick<Metrics, "reviewTook">;
}

/** A review that only kube-apiserver may request. */
export interface Review {
  readonly path: string;
  readonly kind: "token" | "access";
  readonly handler: Handler;
}

/** The route of a review; every client but kube-apiserver gets one and the same refusal. */
export function reviewRoute({ path, kind, handler }: Review, deps: TimedDeps): Route {
  return {
    method: "POST",
    path,
    handler: timed(kind, handler, deps),
    refuses: requireApiServer,
  };
}

/**
 * Wraps a handler: records its duration in the metrics, and the client certificate of
 * kube-apiserver.
 */
export function timed(
  kind: ReviewKind,
  handler: Handler,
  { certificates, clock, metrics }: TimedDeps,
): Handler {
  return async (request, peer) => {
    if (peer.clientName === apiServerName) certificates.shown(peer.certificate);
    const began = clock.monotonic();
    try {
      return await handler(request, peer);
    } finally {
      metrics.reviewTook(kind, (clock.monotonic() - began) / 1000);
    }
  };
}
