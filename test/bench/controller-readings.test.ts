import { describe, expect, it } from "vitest";
import { readingOf, waitBound } from "./controller-readings.ts";

const text = `# HELP rest_client_requests_total Requests.
rest_client_requests_total{code="201",method="POST",host="a:1"} 3
rest_client_requests_total{code="409",method="POST",host="a:1"} 1
rest_client_requests_total{code="200",method="GET",host="a:1"} 14
workqueue_depth{name="copy"} 5
workqueue_depth{name="sharedsecret"} 2
controller_runtime_reconcile_total{controller="copy",result="success"} 40
leader_election_master_status{name="latchkey-controller"} 1
process_cpu_seconds_total 1.5
process_resident_memory_bytes 100000000
nodejs_eventloop_lag_max_seconds 0.0401
`;

describe("readingOf", () => {
  it("sums up requests by method, and items and reconciles of all queues", () => {
    expect(readingOf(text)).toMatchObject({
      requests: { POST: 4, GET: 14 },
      waiting: 7,
      reconciles: 40,
      isLeading: true,
      cpuSeconds: 1.5,
      residentMB: 100,
    });
  });

  it("bounds how long most items have waited since an earlier reading", () => {
    const waited = (bound: string, count: number, name = "copy"): string =>
      `workqueue_queue_duration_seconds_bucket{le="${bound}",name="${name}"} ${count}\n`;
    const at = (within1: number, within10: number, all: number) =>
      readingOf(
        waited("0.001", within1) +
          waited("0.001", 2, "key") +
          waited("0.01", within10) +
          waited("0.01", 2, "key") +
          waited("+Inf", all) +
          waited("+Inf", 2, "key"),
      );
    const before = at(0, 5, 10);
    expect(waitBound(before, at(100, 105, 110), 0.99)).toBe(1);
    expect(waitBound(before, at(98, 105, 110), 0.99)).toBe(10);
    expect(waitBound(before, at(98, 103, 110), 0.99)).toBe(Infinity);
  });

  it("subtracts the timer that monitors the event loop from its longest block", () => {
    expect(readingOf(text).blockMs).toBeCloseTo(20.1);
    expect(readingOf("nodejs_eventloop_lag_max_seconds 0.005\n").blockMs).toBe(0);
  });
});
