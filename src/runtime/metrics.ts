import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

/** How a reconcile ended. */
export type ReconcileResult = "success" | "error" | "requeue_after";

/**
 * Every metric beside those of the process; names as in controller-runtime and client-go where they
 * have one.
 */
export const metricTable = {
  reconciles: {
    name: "controller_runtime_reconcile_total",
    help: "Reconciles by controller and result.",
    labelNames: ["controller", "result"],
  },
  reconcileSeconds: {
    name: "controller_runtime_reconcile_time_seconds",
    help: "Duration of a reconcile in seconds.",
    labelNames: ["controller"],
  },
  reconcileErrors: {
    name: "controller_runtime_reconcile_errors_total",
    help: "Reconciles that failed and are requeued.",
    labelNames: ["controller"],
  },
  reconcileBugs: {
    name: "latchkey_reconcile_unexpected_errors_total",
    help: "Reconciles that failed with an unexpected error, which is a bug.",
    labelNames: ["controller"],
  },
  queueDepth: {
    name: "workqueue_depth",
    help: "Items in the queue.",
    labelNames: ["name"],
  },
  queueAdds: {
    name: "workqueue_adds_total",
    help: "Items added to the queue.",
    labelNames: ["name"],
  },
  queueRetries: {
    name: "workqueue_retries_total",
    help: "Items added to the queue again after a failure.",
    labelNames: ["name"],
  },
  requests: {
    name: "rest_client_requests_total",
    help: "Requests to the API server; code is <error> when there was no response.",
    labelNames: ["code", "method", "host"],
  },
  requestLimit: {
    name: "latchkey_request_concurrency_limit",
    help: "Maximum number of concurrent requests to the API server; below --write-concurrency after responses with status 429.",
    labelNames: ["pool"],
  },
  reviews: {
    name: "latchkey_reviews_total",
    help: "Reviews from kube-apiserver by kind (token, access, admission) and result; malformed: the token is not an access key.",
    labelNames: ["kind", "result"],
  },
  reviewSeconds: {
    name: "latchkey_review_duration_seconds",
    help: "Duration of a review from kube-apiserver in seconds.",
    labelNames: ["kind"],
  },
  certificateEnd: {
    name: "latchkey_certificate_expiry_timestamp_seconds",
    help: "Expiry time of a certificate of the webhook in seconds since the epoch; it is renewed when a third of its validity remains.",
    labelNames: ["certificate"],
  },
  certificateProblem: {
    name: "latchkey_certificate_problem",
    help: "1 while there is a problem with the certificates of the webhook, else 0. Problems: ca-changed (kube-apiserver has not presented a client certificate of the current CA), secret-missing and secret-unreadable (the webhook serves with the certificates in its memory).",
    labelNames: ["problem"],
  },
  objects: {
    name: "latchkey_objects",
    help: "Objects by kind and by status and reason of a condition (Ready, and Synced of SharedSecrets); status is Unknown before the first reconcile. Every replica of the controller counts all of them.",
    labelNames: ["kind", "condition", "status", "reason"],
  },
  syncTargets: {
    name: "latchkey_sync_targets",
    help: "Targets of SharedSecrets by state: synced, conflict (a Secret that is not managed by Latchkey), failed (a rejected write) and pending. Every replica of the controller counts all of them.",
    labelNames: ["state"],
  },
  watchOpened: {
    name: "latchkey_watch_opened_timestamp_seconds",
    help: "Time when the API server last opened a watch of a resource, in seconds since the epoch; 0 if never.",
    labelNames: ["resource"],
  },
  cacheFresh: {
    name: "latchkey_cache_fresh",
    help: "1 while the cache of the webhook is at most 30 seconds old, else 0; at 0 the webhook accepts no access key.",
    labelNames: ["cache"],
  },
  httpRefusals: {
    name: "latchkey_http_refusals_total",
    help: "Connections and requests that a server refused, by server (http, webhook) and reason: connection (connection limit), too-large, too-slow and overloaded (request body).",
    labelNames: ["server", "reason"],
  },
  leading: {
    name: "leader_election_master_status",
    help: "1 while this process holds the Lease, else 0.",
    labelNames: ["name"],
  },
} as const;

/**
 * Milliseconds between looks at the event loop's delay: at 10, prom-client's default, they take
 * half a percent of a core.
 */
const eventLoopMonitoringPrecision = 20;

/** controller-runtime's buckets, in seconds. */
const reconcileBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

const reviewBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1];

/** What a controller's loop counts. */
export interface ControllerMetrics {
  /** A pass that took `seconds` ended. */
  ended(result: ReconcileResult, seconds: number): void;
  /** A pass threw what no failing machine explains: a bug. */
  unexpectedError(): void;
}

/** What a queue counts. */
export interface QueueMetrics {
  added(depth: number): void;
  taken(depth: number): void;
  retried(): void;
}

/** Connections that do not wait for each other: those of copies, and those of everything else. */
export type RequestPool = "copies" | "rest";

/** What kube-apiserver asks the webhook. */
export type ReviewKind = "token" | "access" | "admission";

/**
 * A request to the API server that ended; `code` is its HTTP status, `<error>` when no answer came.
 */
export interface RequestCount {
  readonly code: string;
  readonly method: string;
  readonly host: string;
}

/** Objects of one kind that say the same by one condition; all from closed sets. */
export interface ObjectGroup {
  readonly kind: string;
  readonly condition: "Ready" | "Synced";
  readonly status: "True" | "False" | "Unknown";
  /** A reason of Latchkey's table, or empty. */
  readonly reason: string;
}

/** What becomes of the targets of SharedSecrets. */
export const syncTargetStates = ["synced", "conflict", "failed", "pending"] as const;

/** One of these states. */
export type SyncTargetState = (typeof syncTargetStates)[number];

/** When the API server last began to answer a watch of a resource, in seconds since the epoch. */
export interface WatchOpened {
  readonly resource: string;
  readonly openedAt: number;
}

/** The metrics of a process, in a registry of their own. */
export interface Metrics {
  controller(name: string): ControllerMetrics;
  queue(name: string): QueueMetrics;
  request(count: RequestCount): void;
  requestLimit(pool: RequestPool, limit: number): void;
  leading(lease: string, leading: boolean): void;
  /** A question of kube-apiserver was answered. */
  reviewed(kind: ReviewKind, result: string): void;
  /** It took so long. */
  reviewTook(kind: ReviewKind, seconds: number): void;
  /** When a certificate ends, in seconds since the epoch. */
  certificateEnd(certificate: string, endsAt: number): void;
  /** Whether something is wrong with the certificates. */
  certificateProblem(problem: string, isSo: boolean): void;
  /** So many objects are in this group now. */
  objects(group: ObjectGroup, count: number): void;
  /** So many targets are in this state now. */
  syncTargets(state: SyncTargetState, count: number): void;
  /** Read each time metrics are asked for: when watches were opened. */
  watches(read: () => readonly WatchOpened[]): void;
  /** Read each time metrics are asked for: whether a cache is proven to be current. */
  cacheFresh(cache: string, read: () => boolean): void;
  /** A server refused something to protect itself. */
  refusedHttp(server: "http" | "webhook", reason: string): void;
  /** All metrics in Prometheus' text format, and its media type. */
  render(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** New metrics, all at zero, together with those of the process (CPU, memory, event loop). */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision });
  const reconciles = new Counter({ ...metricTable.reconciles, registers });
  const reconcileSeconds = new Histogram({
    ...metricTable.reconcileSeconds,
    registers,
    buckets: reconcileBuckets,
  });
  const reconcileErrors = new Counter({ ...metricTable.reconcileErrors, registers });
  const reconcileBugs = new Counter({ ...metricTable.reconcileBugs, registers });
  const queueDepth = new Gauge({ ...metricTable.queueDepth, registers });
  const queueAdds = new Counter({ ...metricTable.queueAdds, registers });
  const queueRetries = new Counter({ ...metricTable.queueRetries, registers });
  const requests = new Counter({ ...metricTable.requests, registers });
  const requestLimit = new Gauge({ ...metricTable.requestLimit, registers });
  const leading = new Gauge({ ...metricTable.leading, registers });
  const reviews = new Counter({ ...metricTable.reviews, registers });
  const reviewSeconds = new Histogram({
    ...metricTable.reviewSeconds,
    registers,
    buckets: reviewBuckets,
  });
  const certificateEnd = new Gauge({ ...metricTable.certificateEnd, registers });
  const certificateProblem = new Gauge({ ...metricTable.certificateProblem, registers });
  const objects = new Gauge({ ...metricTable.objects, registers });
  const syncTargets = new Gauge({ ...metricTable.syncTargets, registers });
  const watchOpened = new Gauge({ ...metricTable.watchOpened, registers });
  const cacheFresh = new Gauge({ ...metricTable.cacheFresh, registers });
  const httpRefusals = new Counter({ ...metricTable.httpRefusals, registers });
  const readings: (() => void)[] = [];

  function controller(name: string): ControllerMetrics {
    const errors = reconcileErrors.labels(name);
    const bugs = reconcileBugs.labels(name);
    errors.inc(0);
    bugs.inc(0);
    return {
      ended(result, seconds) {
        reconciles.labels(name, result).inc();
        reconcileSeconds.labels(name).observe(seconds);
        if (result === "error") errors.inc();
      },
      unexpectedError: () => bugs.inc(),
    };
  }

  function queue(name: string): QueueMetrics {
    const depthNow = queueDepth.labels(name);
    const adds = queueAdds.labels(name);
    const retries = queueRetries.labels(name);
    depthNow.set(0);
    return {
      added(depth) {
        adds.inc();
        depthNow.set(depth);
      },
      taken: (depth) => depthNow.set(depth),
      retried: () => retries.inc(),
    };
  }

  return {
    controller,
    queue,
    request: ({ code, method, host }) => requests.labels(code, method, host).inc(),
    requestLimit: (pool, limit) => requestLimit.labels(pool).set(limit),
    leading: (lease, isLeading) => leading.labels(lease).set(isLeading ? 1 : 0),
    reviewed: (kind, result) => reviews.labels(kind, result).inc(),
    reviewTook: (kind, seconds) => reviewSeconds.labels(kind).observe(seconds),
    certificateEnd: (certificate, endsAt) => certificateEnd.labels(certificate).set(endsAt),
    certificateProblem: (problem, isSo) => certificateProblem.labels(problem).set(isSo ? 1 : 0),
    objects({ kind, condition, status, reason }, count) {
      const values = [kind, condition, status, reason];
      if (count === 0) objects.remove(...values);
      else objects.labels(...values).set(count);
    },
    syncTargets: (state, count) => syncTargets.labels(state).set(count),
    watches: (read) =>
      void readings.push(() =>
        read().forEach(({ resource, openedAt }) => watchOpened.labels(resource).set(openedAt)),
      ),
    cacheFresh: (cache, read) =>
      void readings.push(() => cacheFresh.labels(cache).set(read() ? 1 : 0)),
    refusedHttp: (server, reason) => httpRefusals.labels(server, reason).inc(),
    async render() {
      for (const read of readings) read();
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}
