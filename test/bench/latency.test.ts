import { expect, it } from "vitest";
import { latencyRow } from "./latency.ts";

it.each([
  {
    says: "the goal is met if the 99th percentile is below it",
    values: [1, 2, 3],
    belowMs: 4,
    met: true,
  },
  {
    says: "the goal is missed if the 99th percentile is not below it",
    values: [1, 2, 4],
    belowMs: 4,
    met: false,
  },
])("a row of latencies: $says", ({ values, belowMs, met }) => {
  expect(latencyRow("repair", values, { belowMs })).toMatchObject({
    measured: values.at(-1),
    unit: "ms p99",
    wanted: "< 4 ms",
    met,
    note: "p50 2.0 ms, n 3",
  });
});

it("a row of latencies without a goal has no verdict", () => {
  expect(latencyRow("repair", [1])).toEqual({
    name: "repair",
    measured: 1,
    unit: "ms p99",
    note: "p50 1.0 ms, n 1",
  });
});
