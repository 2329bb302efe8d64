import { describe, expect, it } from "vitest";
import { latencyRow, type Row, ratioOf, row, shown, table } from "./report.ts";

const usage = { requests: { GET: 2, POST: 200 }, cpuSeconds: 0.5, residentMB: 99.6, blockMs: 12.4 };

const cells = (one: Row): string =>
  (table([one]).split("\n")[2] ?? "")
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim())
    .join(" | ");

describe("the table", () => {
  it("has one line for each row below a header and a rule, all of the same length", () => {
    const lines = table([
      { name: "a", measured: 1, unit: "s" },
      { name: "a longer name", measured: 1234, unit: "targets/s", usage },
    ]).split("\n");
    expect(lines).toHaveLength(4);
    expect(new Set(lines.map(({ length }) => length)).size).toBe(1);
  });

  it("shows a row beside its ceiling with its usage", () => {
    const details = { ceiling: 2000, ratioGoal: ">= 0.90", writesPerTarget: 1, usage };
    expect(cells(row("fan-out", [1800, "targets/s"], details))).toBe(
      "fan-out | 1800 targets/s | 2000 | 0.90 | >= 0.90 | 1.00 | 2 | 0.50 | 100 | 12 | ",
    );
  });

  it("marks a missed goal, and leaves empty what was not measured", () => {
    expect(cells(row("idle", [3, "writes"], { goal: "0" }))).toBe(
      "idle | 3.00 writes |  |  | 0 (missed) |  |  |  |  |  | ",
    );
  });
});

describe("a number", () => {
  it.each([
    { value: 1234.5, text: "1235" },
    { value: 12.34, text: "12.3" },
    { value: 0.126, text: "0.13" },
    { value: Number.NaN, text: "?" },
  ])("$value is shown as $text", ({ value, text }) => {
    expect(shown(value)).toBe(text);
  });

  it("has no ratio without a ceiling", () => {
    expect([ratioOf({ measured: 1 }), ratioOf({ measured: 1, ceiling: 4 })]).toEqual([
      undefined,
      0.25,
    ]);
  });
});

describe("a goal", () => {
  it.each([
    ["< 50 ms", 49.9, true],
    ["< 50 ms", 50, false],
    ["<= 160 kB", 160, true],
    ["<= 160 kB", 161, false],
    [">= 2000/s", 2000, true],
    [">= 2000/s", 1999, false],
    ["0", 0, true],
    ["0", 1, false],
  ])("of %s is compared with %d", (goal, measured, met) => {
    expect(row("a", [measured, "x"], { goal })).toMatchObject({ wanted: goal, met });
  });

  it("of a ratio is compared with the measured value divided by its ceiling", () => {
    const details = { ceiling: 100, ratioGoal: ">= 0.8 of direct" };
    expect(row("a", [80, "/s"], details)).toMatchObject({ wanted: ">= 0.8 of direct", met: true });
    expect(row("a", [79, "/s"], details)).toMatchObject({ met: false });
  });
});

describe("a row of latencies", () => {
  it.each([
    ["the goal is met if the 99th percentile is below it", [1, 2, 3], true],
    ["the goal is missed if the 99th percentile is not below it", [1, 2, 4], false],
  ])("%s", (_, values, met) => {
    expect(latencyRow("repair", values, { goal: "< 4 ms" })).toMatchObject({
      measured: values.at(-1),
      unit: "ms p99",
      wanted: "< 4 ms",
      met,
      note: "p50 2.0 ms, n 3",
    });
  });

  it("without a goal has no verdict", () => {
    expect(latencyRow("repair", [1])).toEqual({
      name: "repair",
      measured: 1,
      unit: "ms p99",
      note: "p50 1.0 ms, n 1",
    });
  });
});
