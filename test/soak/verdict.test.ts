import { describe, expect, test } from "vitest";
import { type Findings, mustsOf, summaryOf } from "./verdict.ts";

const good: Findings = {
  seed: 1,
  minutes: 30,
  perSecond: 20,
  outcomes: {},
  total: { done: 35_000, late: 900, failed: 0 },
  heldBack: 100,
  failures: [],
  broken: { cut: 60 },
  latencies: [],
  withoutEffect: 0,
  memory: {
    warmUpMinutes: 5,
    residentAfterWarmUp: 150,
    residentAtEnd: 155,
    residentSlope: 0.2,
    heapSlope: 0,
  },
  samples: [],
  reconciles: 1,
  cpuSeconds: 1,
  differences: [],
  settledAfter: 1,
  writes: 1,
  freshWrites: [],
  deaths: [],
  errorLines: [],
  bugs: 0,
  secretLines: 0,
};

const missed = (findings: Findings) => mustsOf(findings).filter(({ holds }) => !holds);

describe("the verdict of a soak", () => {
  test("misses no goal with good results", () => {
    expect(missed(good)).toEqual([]);
  });

  test.each<[string, Partial<Findings>]>([
    ["most changes came too late", { total: { done: 10_000, late: 26_000, failed: 0 } }],
    ["most changes were held back", { heldBack: 30_000 }],
    ["many requests failed", { total: { done: 35_000, late: 0, failed: 1_000 } }],
    ["something is wrong at the end", { differences: ["missing: a copy"] }],
    ["a change has no effect", { withoutEffect: 1 }],
    ["another controller still writes", { freshWrites: ["PUT /api"] }],
    ["the controller exits", { deaths: ["exit code 1"] }],
    ["an error is logged", { errorLines: ["{}"] }],
    ["a reconcile fails with an unexpected error", { bugs: 1 }],
    ["the number of unexpected errors is unknown", { bugs: Number.NaN }],
    ["a secret is logged", { secretLines: 1 }],
    ["memory grows by a megabyte a minute", { memory: { ...good.memory, residentSlope: 1 } }],
    ["the growth of memory is unknown", { memory: { ...good.memory, residentSlope: Number.NaN } }],
  ])("misses one goal if %s", (_, change) => {
    expect(missed({ ...good, ...change })).toHaveLength(1);
  });

  test("has no goal for the slope of memory after a short soak", () => {
    const short = { ...good, minutes: 2, memory: { ...good.memory, residentSlope: 5 } };
    expect(missed(short)).toEqual([]);
    expect(summaryOf(short)).toContain("too short");
  });
});
