import { type Counter, Registry } from "prom-client";
import { createInstruments, type Instruments } from "./instruments.ts";
import { latchkeyVersion } from "./latchkey-version.ts";
import {
  type ControllerMetrics,
  controllerMetrics,
  type QueueMetrics,
  queueMetrics,
  type Readings,
  type RequestMetrics,
  requestMetrics,
  type WebhookMetrics,
  webhookMetrics,
} from "./work-metrics.ts";

/** Connection pools that do not block each other: one for copies, and one for everything else. */
export type RequestPool = "copies" | "rest";

/** The kinds of reviews that kube-apiserver sends to the webhook. */
type ReviewKind = "token" | "access" | "admission";

/**
 * Labels of objects of one kind that have the same status and reason of a condition; all values are
 * from closed sets.
 */
export interface ObjectGroup {
  readonly kind: string;
  readonly condition: "Ready" | "Synced" | "Expiring";
  readonly status: "True" | "False" | "Unknown";
  /** A reason of Latchkey's table, or empty. */
  readonly reason: string;
}

/** An object that is not ready; the reason is one of Latchkey's table, or empty. */
export interface NotReadyObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly reason: string;
}

/** The objects that the controller watches. */
export interface ObjectReadings {
  readonly groups: Iterable<readonly [group: ObjectGroup, count: number]>;
  /** Targets of SharedSecrets by state. */
  readonly targets: Readonly<Record<string, number>>;
  /** A bounded number of objects, and how many others are not ready. */
  readonly notReady: readonly NotReadyObject[];
  readonly omitted: number;
  readonly expiring: readonly {
    readonly kind: string;
    readonly within: string;
    readonly count: number;
  }[];
}

/** The watches and the cache of a resource; `openedAt` in seconds since the epoch, 0 if never. */
export interface WatchReading {
  readonly resource: string;
  /** When the API server last opened a watch. */
  readonly openedAt: number;
  readonly objects: number;
}

/** The connected clusters: how many there are of each state, and the state of some. */
export interface ClusterReadings {
  readonly counts: Readonly<Record<"reachable" | "unreachable", number>>;
  /** A bounded number of clusters by name. */
  readonly named: readonly (readonly [cluster: string, isReachable: boolean])[];
}

/** Counts a value of a closed set of labels, whose series exist with 0 from the start. */
type Count<V extends string> = (value: V) => void;

/** The metrics of a process, in their own registry. */
export interface Metrics {
  controller(name: string, workers: number): ControllerMetrics;
  queue(name: string): QueueMetrics;
  requests(host: string): RequestMetrics;
  requestLimit(pool: RequestPool, limit: number): void;
  leading(lease: string, leading: boolean): void;
  /** Counts reviews of a kind by result. */
  reviews<V extends string>(kind: ReviewKind, results: readonly V[]): Count<V>;
  webhook(path: string): WebhookMetrics;
  /** Sets the expiry time of a certificate, in seconds since the epoch. */
  certificateEnd(certificate: string, endsAt: number): void;
  /** Sets whether a problem with the certificates exists. */
  certificateProblem(problem: string, isSo: boolean): void;
  /** Registers a callback for each scrape. */
  objects(read: () => ObjectReadings): void;
  /** Registers a callback for each scrape: revoked tokens, and requests that wait for them. */
  revoked(read: () => { readonly tokens: number; readonly polls: number }): void;
  /** Registers a callback for each scrape. */
  watches(read: () => readonly WatchReading[]): void;
  /** Counts a list or watch that failed. */
  readonly watchInterrupted: (resource: string, code: string) => void;
  /** Registers a callback for each scrape: whether a cache is fresh. */
  cacheFresh(cache: string, read: () => boolean): void;
  /** The metrics of the gateway. */
  readonly gateway: {
    /** Counts, by this amount, requests that were forwarded and ended. */
    requests(verb: string, code: string, by?: number): void;
    /** Counts, by this amount, requests that the gateway refused before it forwarded them. */
    refusals(reason: string, code: string, by?: number): void;
    /** Counts authentications with a presented credential by result. */
    authentications<V extends string>(results: readonly V[]): Count<V>;
    /** Records the seconds from the head of a request to the decision to forward it. */
    overheadSeconds(seconds: number): void;
    /** Counts requests in progress that were ended by reason. */
    cuts<V extends string>(reasons: readonly V[]): Count<V>;
    /** Registers a callback for each scrape: requests in progress by kind. */
    live(read: () => Readonly<Record<string, number>>): void;
    /** Registers a callback for each scrape. */
    clusters(read: () => ClusterReadings): void;
  };
  /** The metrics of the list of revoked tokens at the direct endpoint. */
  readonly revokedList: {
    /** Counts refused lists by reason. */
    refusals<V extends string>(reasons: readonly V[]): Count<V>;
    /** Registers a callback for each scrape: when the list was confirmed, in seconds. */
    confirmedAt(read: () => number): void;
  };
  /** Counts connections and requests that a server refused by reason. */
  httpRefusals<V extends string>(
    server: "http" | "webhook" | "issuer" | "gateway",
    reasons: readonly V[],
  ): Count<V>;
  /** All metrics in Prometheus' text format, and its media type. */
  render(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** Creates the metrics, all at zero, including those of the process (CPU, memory, event loop). */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const instruments = createInstruments(registry);
  const readings: Readings = new Map();
  const { revokedListConfirmed, revokedTokens, revokedPolls, notReadyOmitted } = instruments;
  // Only processes that read them have these metrics: 0 has a meaning.
  for (const gauge of [revokedListConfirmed, revokedTokens, revokedPolls, notReadyOmitted])
    gauge.remove();
  instruments.buildInfo.labels(latchkeyVersion).set(1);
  return {
    controller: (name, workers) => controllerMetrics(name, workers, instruments),
    queue: (name) => queueMetrics(name, instruments, readings),
    requests: (host) => requestMetrics(host, instruments),
    requestLimit: (pool, limit) => instruments.requestLimit.labels(pool).set(limit),
    leading: (lease, isLeading) => instruments.leading.labels(lease).set(isLeading ? 1 : 0),
    reviews: (kind, results) => counts(instruments.reviews, [kind], results),
    webhook: (path) => webhookMetrics(path, instruments),
    certificateEnd: (certificate, endsAt) =>
      instruments.certificateEnd.labels(certificate).set(endsAt),
    certificateProblem: (problem, isSo) =>
      instruments.certificateProblem.labels(problem).set(isSo ? 1 : 0),
    objects: (read) => void readings.set("objects", () => showObjects(read(), instruments)),
    revoked: (read) =>
      void readings.set("revoked", () => {
        const { tokens, polls } = read();
        revokedTokens.set(tokens);
        revokedPolls.set(polls);
      }),
    watches(read) {
      for (const { resource } of read())
        for (const code of firstInterruptions)
          instruments.watchInterruptions.labels(resource, code).inc(0);
      readings.set("watches", () => {
        for (const { resource, openedAt, objects } of read()) {
          instruments.watchOpened.labels(resource).set(openedAt);
          instruments.cacheObjects.labels(resource).set(objects);
        }
      });
    },
    watchInterrupted: (resource, code) =>
      instruments.watchInterruptions.labels(resource, code).inc(),
    cacheFresh: (cache, read) =>
      void readings.set(`cache ${cache}`, () =>
        instruments.cacheFresh.labels(cache).set(read() ? 1 : 0),
      ),
    gateway: gatewayInstruments(instruments, readings),
    revokedList: {
      refusals: (reasons) => counts(instruments.revokedListRefusals, [], reasons),
      confirmedAt: (read) => void readings.set("confirmed", () => revokedListConfirmed.set(read())),
    },
    httpRefusals: (server, reasons) => counts(instruments.httpRefusals, [server], reasons),
    async render() {
      for (const read of readings.values()) read();
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

/** Codes of interruptions whose series exist from the start; the others are rare. */
const firstInterruptions = ["Network", "ServerError", "TooManyRequests", "Forbidden", "Gone"];

function counts<V extends string>(
  counter: Counter,
  fixed: readonly string[],
  values: readonly V[],
): Count<V> {
  const series = new Map(values.map((value) => [value, counter.labels(...fixed, value)]));
  for (const one of series.values()) one.inc(0);
  return (value) => series.get(value)?.inc();
}

function showObjects(
  { groups, targets, notReady, omitted, expiring }: ObjectReadings,
  instruments: Instruments,
): void {
  for (const [{ kind, condition, status, reason }, count] of groups)
    instruments.objects.labels(kind, condition, status, reason).set(count);
  for (const [state, count] of Object.entries(targets))
    instruments.syncTargets.labels(state).set(count);
  instruments.notReady.reset();
  for (const { kind, namespace, name, reason } of notReady)
    instruments.notReady.labels(kind, namespace, name, reason).set(1);
  instruments.notReadyOmitted.set(omitted);
  for (const { kind, within, count } of expiring)
    instruments.expiring.labels(kind, within).set(count);
}

function gatewayInstruments(instruments: Instruments, readings: Readings): Metrics["gateway"] {
  return {
    requests: (verb, code, by) => instruments.gatewayRequests.labels(verb, code).inc(by),
    refusals: (reason, code, by) => instruments.gatewayRefusals.labels(reason, code).inc(by),
    authentications: (results) => counts(instruments.gatewayAuthentications, [], results),
    overheadSeconds: (seconds) => instruments.gatewayOverhead.observe(seconds),
    cuts: (reasons) => counts(instruments.gatewayCuts, [], reasons),
    live: (read) =>
      void readings.set("live", () =>
        Object.entries(read()).forEach(([kind, count]) =>
          instruments.gatewayLive.labels(kind).set(count),
        ),
      ),
    clusters: (read) =>
      void readings.set("clusters", () => {
        const { counts: byState, named } = read();
        for (const [state, count] of Object.entries(byState))
          instruments.clusters.labels(state).set(count);
        instruments.clusterReachable.reset();
        for (const [cluster, isReachable] of named)
          instruments.clusterReachable.labels(cluster).set(isReachable ? 1 : 0);
      }),
  };
}
