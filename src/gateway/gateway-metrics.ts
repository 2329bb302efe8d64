import type { Metrics } from "../runtime/metrics.ts";

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

/** Refusals whose series exist from the start. */
const firstRefusals = {
  ...{ malformed: 400, unauthenticated: 401, identity: 403, impersonation: 403, scope: 403 },
  ...{ "not-found": 404, method: 405, limit: 429, "not-ready": 503 },
} as const;

/** The gateway's metrics, with labels from closed sets; those of trouble are 0 from the start. */
export function gatewayMetrics(metrics: Pick<Metrics, "gateway">): GatewayMetrics {
  const { gateway } = metrics;
  for (const [cause, status] of Object.entries(firstRefusals))
    gateway.refusals(cause, String(status), 0);
  for (const verb of verbs) for (const code of ["502", "504"]) gateway.requests(verb, code, 0);
  return {
    answered: (verb, status) =>
      gateway.requests(verbs.has(verb) ? verb : "other", status === 0 ? "<none>" : String(status)),
    refused: (cause, status) => gateway.refusals(cause, String(status)),
    overhead: (seconds) => gateway.overheadSeconds(seconds),
  };
}
