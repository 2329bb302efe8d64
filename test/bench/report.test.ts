import { describe, expect, it } from "vitest";
import { type Row, ratioOf, shown, table } from "./report.ts";

const usage = { requests: { GET: 2, POST: 200 }, cpuSeconds: 0.5, residentMB: 99.6, blockMs: 12.4 };

const cells = (row: Row): readonly string[] =>
  (table([row]).split("\n")[2] ?? "")
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());

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
    const row = {
      name: "fan-out",
      measured: 1800,
      unit: "targets/s",
      ceiling: 2000,
      wanted: ">= 0.90",
      met: true,
      writesPerTarget: 1,
      usage,
    };
    expect(cells(row)).toEqual([
      "fan-out",
      "1800 targets/s",
      "2000",
      "0.90",
      ">= 0.90",
      "1.00",
      "2",
      "0.50",
      "100",
      "12",
      "",
    ]);
  });

  it("marks a missed goal, and leaves empty what was not measured", () => {
    expect(cells({ name: "idle", measured: 3, unit: "writes", wanted: "0", met: false })).toEqual([
      "idle",
      "3.00 writes",
      "",
      "",
      "0 (missed)",
      "",
      "",
      "",
      "",
      "",
      "",
    ]);
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
