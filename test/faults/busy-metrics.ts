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
    controller: () => ({
      began() {},
      ended() {
        working -= 1;
        onChange();
      },
      unexpectedError: () => void (bugs += 1),
    }),
    queue: (name) => ({
      added(depth) {
        depths.set(name, depth);
        onChange();
      },
      taken(depth) {
        depths.set(name, depth);
        working += 1;
      },
      done() {},
      retried() {},
      inProgress() {},
    }),
    requests: () => ({ ended() {}, took() {} }),
    requestLimit() {},
    reviews: () => () => {},
    webhook: () => ({ began() {}, ended() {} }),
    certificateEnd() {},
    certificateProblem() {},
    objects() {},
    revoked() {},
    watches() {},
    watchInterrupted() {},
    cacheFresh() {},
    gateway: {
      requests() {},
      refusals() {},
      authentications: () => () => {},
      overheadSeconds() {},
      cuts: () => () => {},
      live() {},
      clusters() {},
    },
    revokedList: { refusals: () => () => {}, confirmedAt() {} },
    httpRefusals: () => () => {},
    leading: (_, isLeading) => void (leading = isLeading),
    render: async () => ({ contentType: "text/plain", text: "" }),
    busy: () => working + [...depths.values()].reduce((sum, depth) => sum + depth, 0),
    isLeading: () => leading,
    bugs: () => bugs,
  };
}
