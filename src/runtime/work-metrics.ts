import type { Instruments } from "./instruments.ts";

/** Callbacks for each scrape, by what they read. */
export type Readings = Map<string, () => void>;

/** The result of a reconcile. */
type ReconcileResult = (typeof reconcileResults)[number];

const reconcileResults = ["success", "error", "requeue_after"] as const;

/** Metrics of a controller. */
export interface ControllerMetrics {
  /** Counts a reconcile in progress. */
  began(): void;
  /** Counts its end and its duration. */
  ended(result: ReconcileResult, seconds: number): void;
  /** Counts a reconcile that failed with an error other than a KubeError, which is a bug. */
  unexpectedError(): void;
}

/** Metrics of a work queue; durations in seconds. */
export interface QueueMetrics {
  added(depth: number): void;
  taken(depth: number, waited: number): void;
  done(worked: number): void;
  retried(): void;
  /** Registers a callback for each scrape: the durations of the work in progress. */
  inProgress(read: () => readonly number[]): void;
}

/** Metrics of the requests to an API server. */
export interface RequestMetrics {
  /** Counts a request; `code` is its HTTP status, or `<error>` without a response. */
  ended(request: { readonly code: string; readonly method: string }): void;
  /** Records the duration of an attempt. */
  took(method: string, seconds: number): void;
}

/** Metrics of a path of the webhook. */
export interface WebhookMetrics {
  began(): void;
  ended(code: number, seconds: number): void;
}

/** The metrics of a controller with this many workers. */
export function controllerMetrics(
  name: string,
  workers: number,
  instruments: Instruments,
): ControllerMetrics {
  const series = reconcileResults.map(
    (result) => [result, instruments.reconciles.labels(name, result)] as const,
  );
  const results = new Map(series);
  const errors = instruments.reconcileErrors.labels(name);
  const bugs = instruments.reconcileBugs.labels(name);
  for (const counter of [...results.values(), errors, bugs]) counter.inc(0);
  const active = instruments.activeWorkers.labels(name);
  const durations = instruments.reconcileSeconds.labels(name);
  active.set(0);
  instruments.reconcileSeconds.zero({ controller: name });
  instruments.maximumReconciles.labels(name).set(workers);
  return {
    began: () => active.inc(),
    ended(result, seconds) {
      active.dec();
      results.get(result)?.inc();
      durations.observe(seconds);
      if (result === "error") errors.inc();
    },
    unexpectedError: () => bugs.inc(),
  };
}

/** The metrics of a work queue. */
export function queueMetrics(
  name: string,
  instruments: Instruments,
  readings: Readings,
): QueueMetrics {
  const depthNow = instruments.queueDepth.labels(name);
  const adds = instruments.queueAdds.labels(name);
  const retries = instruments.queueRetries.labels(name);
  const waits = instruments.queueSeconds.labels(name);
  const works = instruments.workSeconds.labels(name);
  const showProgress = (seconds: readonly number[]): void => {
    instruments.unfinishedSeconds.labels(name).set(seconds.reduce((sum, one) => sum + one, 0));
    instruments.longestSeconds.labels(name).set(Math.max(0, ...seconds));
  };
  depthNow.set(0);
  for (const counter of [adds, retries]) counter.inc(0);
  showProgress([]);
  for (const histogram of [instruments.queueSeconds, instruments.workSeconds])
    histogram.zero({ name });
  return {
    added(depth) {
      adds.inc();
      depthNow.set(depth);
    },
    taken(depth, waited) {
      depthNow.set(depth);
      waits.observe(waited);
    },
    done: (worked) => works.observe(worked),
    retried: () => retries.inc(),
    inProgress: (read) => void readings.set(`queue ${name}`, () => showProgress(read())),
  };
}

/** Statuses whose series exist from the start; 201 is that of a POST. */
const firstCodes = ["200", "201", "409", "429", "500", "<error>"];
const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** The metrics of the requests to the API server at `host`. */
export function requestMetrics(host: string, instruments: Instruments): RequestMetrics {
  for (const method of methods) {
    for (const code of firstCodes) instruments.requests.labels(code, method, host).inc(0);
    instruments.requestSeconds.zero({ verb: method, host });
  }
  return {
    ended: ({ code, method }) => instruments.requests.labels(code, method, host).inc(),
    took: (method, seconds) => instruments.requestSeconds.labels(method, host).observe(seconds),
  };
}

/** The metrics of a path of the webhook. */
export function webhookMetrics(path: string, instruments: Instruments): WebhookMetrics {
  const inFlight = instruments.webhookInFlight.labels(path);
  const durations = instruments.webhookSeconds.labels(path);
  inFlight.set(0);
  instruments.webhookSeconds.zero({ webhook: path });
  for (const code of ["200", "500"]) instruments.webhookRequests.labels(path, code).inc(0);
  return {
    began: () => inFlight.inc(),
    ended(code, seconds) {
      inFlight.dec();
      instruments.webhookRequests.labels(path, String(code)).inc();
      durations.observe(seconds);
    },
  };
}
