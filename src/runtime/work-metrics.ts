import type { Metrics } from "./metrics.ts";

const reconcileResults = ["success", "error", "requeue_after"] as const;

/** Metrics of a controller. */
export interface ControllerMetrics {
  /** Counts a reconcile in progress. */
  began(): void;
  /** Counts its end and its duration. */
  ended(result: (typeof reconcileResults)[number], seconds: number): void;
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

/** The metrics of a controller with this many workers. */
export function controllerMetrics(
  controller: string,
  workers: number,
  metrics: Metrics,
): ControllerMetrics {
  const counted = metrics.counterOf(
    "controller_runtime_reconcile_total",
    reconcileResults,
    (result) => ({ controller, result }),
  );
  const errors = metrics.counter("controller_runtime_reconcile_errors_total", { controller });
  const bugs = metrics.counter("latchkey_reconcile_unexpected_errors_total", { controller });
  const active = metrics.gauge("controller_runtime_active_workers", { controller });
  const durations = metrics.histogram("controller_runtime_reconcile_time_seconds", { controller });
  active.set(0);
  metrics.gauge("controller_runtime_max_concurrent_reconciles", { controller }).set(workers);
  return {
    began: () => active.inc(),
    ended(result, seconds) {
      active.dec();
      counted(result);
      durations.observe(seconds);
      if (result === "error") errors.inc();
    },
    unexpectedError: () => bugs.inc(),
  };
}

/** The metrics of a work queue. */
export function queueMetrics(name: string, metrics: Metrics): QueueMetrics {
  const queued = metrics.gauge("workqueue_depth", { name });
  const adds = metrics.counter("workqueue_adds_total", { name });
  const retries = metrics.counter("workqueue_retries_total", { name });
  const waits = metrics.histogram("workqueue_queue_duration_seconds", { name });
  const works = metrics.histogram("workqueue_work_duration_seconds", { name });
  const unfinished = metrics.gauge("workqueue_unfinished_work_seconds", { name });
  const longest = metrics.gauge("workqueue_longest_running_processor_seconds", { name });
  const showProgress = (seconds: readonly number[]): void => {
    unfinished.set(seconds.reduce((sum, one) => sum + one, 0));
    longest.set(Math.max(0, ...seconds));
  };
  queued.set(0);
  showProgress([]);
  return {
    added(depth) {
      adds.inc();
      queued.set(depth);
    },
    taken(depth, waited) {
      queued.set(depth);
      waits.observe(waited);
    },
    done: (worked) => works.observe(worked),
    retried: () => retries.inc(),
    inProgress: (read) => metrics.onScrape(`queue ${name}`, () => showProgress(read())),
  };
}

/** Statuses whose series exist from the start; 201 is that of a POST. */
const firstCodes = ["200", "201", "409", "429", "500", "<error>"];
const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** The metrics of the requests to the API server at `host`. */
export function requestMetrics(host: string, metrics: Metrics): RequestMetrics {
  const requests = (code: string, method: string) =>
    metrics.counter("rest_client_requests_total", { code, method, host });
  const durations = (verb: string) =>
    metrics.histogram("rest_client_request_duration_seconds", { verb, host });
  for (const method of methods) {
    for (const code of firstCodes) requests(code, method);
    durations(method);
  }
  return {
    ended: ({ code, method }) => requests(code, method).inc(),
    took: (method, seconds) => durations(method).observe(seconds),
  };
}
