import type { Metrics } from "../runtime/metrics.ts";

/** What the gateway counts. */
export interface GatewayMetrics {
  /** A request was forwarded and has ended; status 0 if the client left before an answer. */
  answered(verb: string, status: number): void;
  /** The gateway refused a request before it forwarded it. */
  refused(cause: string, status: number): void;
  /** Seconds from a head to the decision to forward it. */
  overhead(seconds: number): void;
}

/** The connected clusters: how many there are of each state, and the state of some. */
export interface ClusterReadings {
  readonly counts: Readonly<Record<"reachable" | "unreachable", number>>;
  /** Number of clusters whose credential is in the last tenth of its lifetime. */
  readonly expiring: number;
  /** A bounded number of clusters by name. */
  readonly named: readonly (readonly [cluster: string, ClusterReading])[];
}

/** The state of a connected cluster. */
export interface ClusterReading {
  readonly isReachable: boolean;
  readonly isThrottled: boolean;
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
  malformed: 400,
  unauthenticated: 401,
  identity: 403,
  impersonation: 403,
  scope: 403,
  "not-found": 404,
  method: 405,
  limit: 429,
  "not-ready": 503,
} as const;

/** The gateway's metrics, with labels from closed sets; those of trouble are 0 from the start. */
export function gatewayMetrics(metrics: Metrics): GatewayMetrics {
  const requests = (verb: string, code: string) =>
    metrics.counter("latchkey_gateway_requests_total", { verb, code });
  const refusals = (reason: string, status: number) =>
    metrics.counter("latchkey_gateway_refusals_total", { reason, code: String(status) });
  const overhead = metrics.histogram("latchkey_gateway_overhead_seconds", {});
  for (const [cause, status] of Object.entries(firstRefusals)) refusals(cause, status);
  for (const verb of verbs) for (const code of ["502", "504"]) requests(verb, code);
  return {
    answered: (verb, status) =>
      requests(verbs.has(verb) ? verb : "other", status === 0 ? "<none>" : String(status)).inc(),
    refused: (cause, status) => refusals(cause, status).inc(),
    overhead: (seconds) => overhead.observe(seconds),
  };
}

/** Returns a function that counts authentications with a presented credential by result. */
export function authenticationCounter<Result extends string>(
  results: readonly Result[],
  metrics: Metrics,
): (result: Result) => void {
  const name = "latchkey_gateway_authentications_total";
  return metrics.counterOf(name, results, (result) => ({ result }));
}

/** Returns a function that counts requests in progress that were ended by reason. */
export function cutCounter<Reason extends string>(
  reasons: readonly Reason[],
  metrics: Metrics,
): (reason: Reason) => void {
  return metrics.counterOf("latchkey_gateway_cuts_total", reasons, (reason) => ({ reason }));
}

/** Shows the requests in progress by kind. */
export function exposeRequests(
  read: () => Readonly<Record<string, number>>,
  metrics: Metrics,
): void {
  metrics.onScrape("live", () => {
    for (const [kind, count] of Object.entries(read()))
      metrics.gauge("latchkey_gateway_live", { kind }).set(count);
  });
}

const expiringClusters = {
  kind: "Cluster",
  condition: "Expiring",
  status: "True",
  reason: "Expiring",
};

/** Shows the connected clusters. */
export function exposeClusters(read: () => ClusterReadings, metrics: Metrics): void {
  metrics.onScrape("clusters", () => {
    const { counts, expiring, named } = read();
    metrics.gauge("latchkey_objects", expiringClusters).set(expiring);
    for (const [state, count] of Object.entries(counts))
      metrics.gauge("latchkey_connected_clusters", { state }).set(count);
    metrics.reset("latchkey_connected_cluster_reachable");
    metrics.reset("latchkey_connected_cluster_throttled");
    for (const [cluster, { isReachable, isThrottled }] of named) {
      metrics.gauge("latchkey_connected_cluster_reachable", { cluster }).set(isReachable ? 1 : 0);
      metrics.gauge("latchkey_connected_cluster_throttled", { cluster }).set(isThrottled ? 1 : 0);
    }
  });
}
