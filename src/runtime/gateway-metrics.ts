import type { Metrics } from "./metrics.ts";

/** What the gateway counts. */
export interface GatewayMetrics {
  /** A request was forwarded and its exchange ended; status 0 if the client left before an answer. */
  answered(verb: string, status: number): void;
  /** The gateway refused a request before it forwarded it. */
  refused(cause: string, status: number): void;
  /** Seconds from a head to the decision to forward it. */
  overhead(seconds: number): void;
}

/** Verbs that are a label value; others count as `other`. */
const verbs: ReadonlySet<string> = new Set([
  "get",
  "list",
  "watch",
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
  "proxy",
]);

/** The gateway's metrics, with labels from closed sets. */
export function gatewayMetrics(metrics: Pick<Metrics, "gateway">): GatewayMetrics {
  const { gateway } = metrics;
  return {
    answered: (verb, status) =>
      gateway.requests(verbs.has(verb) ? verb : "other", status === 0 ? "<none>" : String(status)),
    refused: (cause, status) => gateway.refusals(cause, String(status)),
    overhead: (seconds) => gateway.overheadSeconds(seconds),
  };
}
