import { expect, test } from "vitest";
import { drainTimes } from "../../src/gateway/gateway-process.ts";

test.each([
  [55_000, { leastMs: 5_000, watchesMs: 10_000, restMs: 50_000 }],
  [12_000, { leastMs: 5_000, watchesMs: 7_000, restMs: 7_000 }],
  [5_000, { leastMs: 5_000, watchesMs: 0, restMs: 0 }],
  [0, { leastMs: 0, watchesMs: 0, restMs: 0 }],
])("a drain timeout of %d ms is not exceeded by watches that are ended one by one", (ms, times) => {
  expect(drainTimes(ms)).toEqual(times);
});
