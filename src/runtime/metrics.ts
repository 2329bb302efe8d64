import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { metricTable } from "./metric-table.ts";

/** The result of a reconcile. */
export type ReconcileResult = "success" | "error" | "requeue_after";

/**
 * Sampling interval of the event loop delay in milliseconds: at 10, prom-client's default, sampling
 * takes 0.5% of a core.
 */
const eventLoopMonitoringPrecision = 20;

/** controller-runtime's buckets, in seconds. */
const reconcileBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

const reviewBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1];

/** Metrics of a controller. */
export interface ControllerMetrics {
  /** Counts a reconcile and its duration. */
  ended(result: ReconcileResult, seconds: number): void;
  /** Counts a reconcile that failed with an error other than a KubeError, which is a bug. */
  unexpectedError(): void;
}

/** Metrics of a work queue. */
export interface QueueMetrics {
  added(depth: number): void;
  taken(depth: number): void;
  retried(): void;
}

/** Connection pools that do not block each other: one for copies, and one for everything else. */
export type RequestPool = "copies" | "rest";

/** The kinds of reviews that kube-apiserver sends to the webhook. */
export type ReviewKind = "token" | "access" | "admission";

/**
 * A completed request to the API server; `code` is its HTTP status, or `<error>` without a
 * response.
 */
export interface RequestCount {
  readonly code: string;
  readonly method: string;
  readonly host: string;
}

/**
 * Labels of objects of one kind that have the same status and reason of a condition; all values are
 * from closed sets.
 */
export interface ObjectGroup {
  readonly kind: string;
  readonly condition: "Ready" | "Synced";
  readonly status: "True" | "False" | "Unknown";
  /** A reason of Latchkey's table, or empty. */
  readonly reason: string;
}

/** States of the targets of SharedSecrets. */
export const syncTargetStates = ["synced", "conflict", "failed", "pending"] as const;

/** One of these states. */
export type SyncTargetState = (typeof syncTargetStates)[number];

/** When the API server last opened a watch of a resource, in seconds since the epoch. */
export interface WatchOpened {
  readonly resource: string;
  readonly openedAt: number;
}

/** The metrics of a process, in their own registry. */
export interface Metrics {
  controller(name: string): ControllerMetrics;
  queue(name: string): QueueMetrics;
  request(count: RequestCount): void;
  requestLimit(pool: RequestPool, limit: number): void;
  leading(lease: string, leading: boolean): void;
  /** Counts a review. */
  reviewed(kind: ReviewKind, result: string): void;
  /** Records the duration of a review. */
  reviewTook(kind: ReviewKind, seconds: number): void;
  /** Sets the expiry time of a certificate, in seconds since the epoch. */
  certificateEnd(certificate: string, endsAt: number): void;
  /** Sets whether a problem with the certificates exists. */
  certificateProblem(problem: string, isSo: boolean): void;
  /** Sets the number of objects in a group. */
  objects(group: ObjectGroup, count: number): void;
  /** Sets the number of targets in a state. */
  syncTargets(state: SyncTargetState, count: number): void;
  /** Registers a callback for each scrape: revoked tokens, and requests that wait for them. */
  revoked(read: () => { readonly tokens: number; readonly polls: number }): void;
  /** Registers a callback for each scrape: when watches were opened. */
  watches(read: () => readonly WatchOpened[]): void;
  /** Registers a callback for each scrape: whether a cache is fresh. */
  cacheFresh(cache: string, read: () => boolean): void;
  /** The metrics of the gateway. */
  readonly gateway: {
    /** Counts a request that was forwarded and ended. */
    requests(verb: string, code: string): void;
    /** Counts a request that the gateway refused before it forwarded it. */
    refusals(reason: string, code: string): void;
    /** Counts an authentication with a presented credential. */
    authentications(result: string): void;
    /** Records the seconds from the head of a request to the decision to forward it. */
    overheadSeconds(seconds: number): void;
    /** Counts a request in progress that was ended because it is no longer allowed. */
    cuts(reason: string): void;
    /** Registers a callback for each scrape: requests in progress by kind. */
    live(read: () => Readonly<Record<string, number>>): void;
  };
  /** The metrics of the list of revoked tokens at the direct endpoint. */
  readonly revokedList: {
    /** Counts a refused list. */
    refused(reason: string): void;
    /** Registers a callback for each scrape: when the list was confirmed, in seconds. */
    confirmedAt(read: () => number): void;
  };
  /** Counts a connection or request that a server refused. */
  refusedHttp(server: "http" | "webhook" | "issuer" | "gateway", reason: string): void;
  /** All metrics in Prometheus' text format, and its media type. */
  render(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** Creates the metrics, all at zero, including those of the process (CPU, memory, event loop). */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision });
  const instruments = newInstruments(registry);
  const readings: (() => void)[] = [];
  // Only direct endpoints have the metric: 0 means that no list is known.
  instruments.revokedListConfirmed.remove();
  return {
    controller: (name) => controllerMetrics(name, instruments),
    queue: (name) => queueMetrics(name, instruments),
    request: ({ code, method, host }) => instruments.requests.labels(code, method, host).inc(),
    requestLimit: (pool, limit) => instruments.requestLimit.labels(pool).set(limit),
    leading: (lease, isLeading) => instruments.leading.labels(lease).set(isLeading ? 1 : 0),
    reviewed: (kind, result) => instruments.reviews.labels(kind, result).inc(),
    reviewTook: (kind, seconds) => instruments.reviewSeconds.labels(kind).observe(seconds),
    certificateEnd: (certificate, endsAt) =>
      instruments.certificateEnd.labels(certificate).set(endsAt),
    certificateProblem: (problem, isSo) =>
      instruments.certificateProblem.labels(problem).set(isSo ? 1 : 0),
    objects({ kind, condition, status, reason }, count) {
      const values = [kind, condition, status, reason];
      if (count === 0) instruments.objects.remove(...values);
      else instruments.objects.labels(...values).set(count);
    },
    syncTargets: (state, count) => instruments.syncTargets.labels(state).set(count),
    revoked: (read) =>
      void readings.push(() => {
        const { tokens, polls } = read();
        instruments.revokedTokens.set(tokens);
        instruments.revokedPolls.set(polls);
      }),
    watches: (read) =>
      void readings.push(() =>
        read().forEach(({ resource, openedAt }) =>
          instruments.watchOpened.labels(resource).set(openedAt),
        ),
      ),
    cacheFresh: (cache, read) =>
      void readings.push(() => instruments.cacheFresh.labels(cache).set(read() ? 1 : 0)),
    gateway: gatewayInstruments(instruments, readings),
    revokedList: {
      refused: (reason) => instruments.revokedListRefusals.labels(reason).inc(),
      confirmedAt: (read) => void readings.push(() => instruments.revokedListConfirmed.set(read())),
    },
    refusedHttp: (server, reason) => instruments.httpRefusals.labels(server, reason).inc(),
    async render() {
      for (const read of readings) read();
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

function gatewayInstruments(
  instruments: Instruments,
  readings: (() => void)[],
): Metrics["gateway"] {
  return {
    requests: (verb, code) => instruments.gatewayRequests.labels(verb, code).inc(),
    refusals: (reason, code) => instruments.gatewayRefusals.labels(reason, code).inc(),
    authentications: (result) => instruments.gatewayAuthentications.labels(result).inc(),
    overheadSeconds: (seconds) => instruments.gatewayOverhead.observe(seconds),
    cuts: (reason) => instruments.gatewayCuts.labels(reason).inc(),
    live: (read) =>
      void readings.push(() =>
        Object.entries(read()).forEach(([kind, count]) =>
          instruments.gatewayLive.labels(kind).set(count),
        ),
      ),
  };
}

type Instruments = ReturnType<typeof newInstruments>;

function newInstruments(registry: Registry) {
  const registers = [registry];
  return {
    reconciles: new Counter({ ...metricTable.reconciles, registers }),
    reconcileSeconds: new Histogram({
      ...metricTable.reconcileSeconds,
      registers,
      buckets: reconcileBuckets,
    }),
    reconcileErrors: new Counter({ ...metricTable.reconcileErrors, registers }),
    reconcileBugs: new Counter({ ...metricTable.reconcileBugs, registers }),
    queueDepth: new Gauge({ ...metricTable.queueDepth, registers }),
    queueAdds: new Counter({ ...metricTable.queueAdds, registers }),
    queueRetries: new Counter({ ...metricTable.queueRetries, registers }),
    requests: new Counter({ ...metricTable.requests, registers }),
    requestLimit: new Gauge({ ...metricTable.requestLimit, registers }),
    leading: new Gauge({ ...metricTable.leading, registers }),
    reviews: new Counter({ ...metricTable.reviews, registers }),
    reviewSeconds: new Histogram({
      ...metricTable.reviewSeconds,
      registers,
      buckets: reviewBuckets,
    }),
    certificateEnd: new Gauge({ ...metricTable.certificateEnd, registers }),
    certificateProblem: new Gauge({ ...metricTable.certificateProblem, registers }),
    objects: new Gauge({ ...metricTable.objects, registers }),
    syncTargets: new Gauge({ ...metricTable.syncTargets, registers }),
    revokedTokens: new Gauge({ ...metricTable.revokedTokens, registers }),
    revokedPolls: new Gauge({ ...metricTable.revokedPolls, registers }),
    watchOpened: new Gauge({ ...metricTable.watchOpened, registers }),
    cacheFresh: new Gauge({ ...metricTable.cacheFresh, registers }),
    gatewayRequests: new Counter({ ...metricTable.gatewayRequests, registers }),
    gatewayRefusals: new Counter({ ...metricTable.gatewayRefusals, registers }),
    gatewayAuthentications: new Counter({ ...metricTable.gatewayAuthentications, registers }),
    gatewayOverhead: new Histogram({
      ...metricTable.gatewayOverhead,
      registers,
      buckets: reviewBuckets,
    }),
    gatewayCuts: new Counter({ ...metricTable.gatewayCuts, registers }),
    gatewayLive: new Gauge({ ...metricTable.gatewayLive, registers }),
    revokedListRefusals: new Counter({ ...metricTable.revokedListRefusals, registers }),
    revokedListConfirmed: new Gauge({ ...metricTable.revokedListConfirmed, registers }),
    httpRefusals: new Counter({ ...metricTable.httpRefusals, registers }),
  };
}

function controllerMetrics(
  name: string,
  { reconciles, reconcileSeconds, reconcileErrors, reconcileBugs }: Instruments,
): ControllerMetrics {
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

function queueMetrics(
  name: string,
  { queueDepth, queueAdds, queueRetries }: Instruments,
): QueueMetrics {
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
