import type { Metrics } from "../../src/runtime/metrics.ts";

/** Metrics that only show whether a controller is busy. */
export interface BusyMetrics extends Metrics {
  /** Items that wait for a worker or are being processed. */
  readonly busy: () => number;
  readonly isLeading: () => boolean;
  /** Reconciles that failed with an unexpected error. */
  readonly bugs: () => number;
}

/** New metrics of one controller; `onChange` is called for every item that is added or done. */
export function busyMetrics(onChange: () => void): BusyMetrics {
  const depths = new Map<string, number>();
  let working = 0;
  let bugs = 0;
  let leading = false;
  return {
    counter: (name) => ({
      inc() {
        if (name === "workqueue_adds_total") onChange();
        if (name === "latchkey_reconcile_unexpected_errors_total") bugs += 1;
      },
    }),
    counterOf: () => () => {},
    gauge: (name, labels) => ({
      inc() {},
      dec() {},
      set(value) {
        if (name === "workqueue_depth") depths.set(JSON.stringify(labels), value);
        if (name === "leader_election_master_status") leading = value === 1;
      },
    }),
    reset() {},
    histogram: (name) => ({
      observe() {
        // An item is taken, and its reconcile ends.
        if (name === "workqueue_queue_duration_seconds") working += 1;
        if (name !== "controller_runtime_reconcile_time_seconds") return;
        working -= 1;
        onChange();
      },
    }),
    onScrape() {},
    render: async () => ({ contentType: "text/plain", text: "" }),
    busy: () => working + [...depths.values()].reduce((sum, depth) => sum + depth, 0),
    isLeading: () => leading,
    bugs: () => bugs,
  };
}
