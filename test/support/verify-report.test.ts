import { describe, expect, test } from "vitest";
import { countsIn, onTwoCores, tableOf } from "./verify-report.ts";

describe("what a part says that it has run", () => {
  test.each([
    [
      "vitest",
      "\n Test Files  2 passed (2)\n      Tests  7 passed | 1 skipped (8)\n",
      "7 passed | 1 skipped (8)",
    ],
    [
      "the fault matrix",
      "x\n40 runs with 1 seed (SEED=3) in 9 s: 0 failed, 2 ended\n",
      "40 runs with 1 seed (SEED=3) in 9 s: 0 failed, 2 ended",
    ],
    [
      "walks",
      "Secret: 4 walks of 9 steps\n60 walks in 8 s: 0 failed\n",
      "60 walks in 8 s: 0 failed",
    ],
    [
      "a search",
      "a key: 9 states\n1000 states of 3 worlds, 2 complete: 0 failed\n",
      "1000 states of 3 worlds, 2 complete: 0 failed",
    ],
    [
      "a soak",
      "  1.0 min  changes        341 made, 0 failed\n",
      "1.0 min  changes        341 made, 0 failed",
    ],
    ["fuzz", "ok  120 runs  a: b\nFAILED  3 runs  c\nok  77 runs  d\n", "200 inputs to 3 targets"],
    ["nothing", "sh: no such file\n", ""],
  ])("%s", (_what, output, counts) => {
    expect(countsIn(output)).toBe(counts);
  });
});

test("the table of the parts has a row for each, and one for all", () => {
  const rows = [
    { name: "crash", seconds: 800, passed: true, counts: "70 passed (70)" },
    { name: "fuzz", seconds: 9, passed: false, counts: "" },
  ];
  expect(tableOf(rows, 805)).toBe(
    [
      "part   result    seconds  counts",
      "crash  passed        800  70 passed (70)",
      "fuzz   FAILED          9",
      "all    1 FAILED      805",
    ].join("\n"),
  );
});

test("parts that need one core run two at a time, all others alone, in their order", async () => {
  const parts = [1, 2, 1, 1, 1, 2, 2].map((cores, number) => ({ number, onOneCore: cores === 1 }));
  const running = new Set<number>();
  const seen: number[][] = [];
  const last = Promise.withResolvers<void>();
  const ended = await onTwoCores(parts, async ({ number }) => {
    running.add(number);
    seen.push([...running]);
    if (number === 2) await last.promise;
    running.delete(number);
    if (number === 4) last.resolve();
    return number;
  });
  expect(seen).toEqual([[0], [1], [2], [2, 3], [2, 4], [5], [6]]);
  expect(ended).toEqual([0, 1, 2, 3, 4, 5, 6]);
});
