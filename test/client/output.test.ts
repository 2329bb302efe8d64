import { describe, expect, test } from "vitest";
import { paintWith, resultText, tableText, endText } from "../../src/client/output.ts";
import { spanText } from "../../src/domain/lifetime.ts";

describe("a table", () => {
  test("has columns as wide as their longest cell, without spaces at the end", () => {
    expect(
      tableText(
        ["NAME", "READY"],
        [
          ["database", "True"],
          ["a", ""],
        ],
      ),
    ).toBe("NAME       READY\ndatabase   True\na\n");
  });

  test("has no control characters of a server", () => {
    expect(tableText(["A"], [["x\u{1b}[31m\ny\u{202e}z\u{7}"]])).toBe("A\nx�[31m y�z�\n");
  });
});

test.each([
  ["json", '{\n    "a": 1\n}\n'],
  ["yaml", "a: 1\n"],
  [undefined, "text"],
] as const)("a result as %s", (output, text) => {
  expect(resultText(output, { a: 1 }, () => "text")).toBe(text);
});

test.each([
  [-5, "0s"],
  [119, "119s"],
  [120, "2m"],
  [3599, "59m"],
  [3600, "1h"],
  [5400, "1h30m"],
  [7200, "2h"],
  [9000, "2h30m"],
  [172_800, "2d"],
])("%i seconds are %s", (seconds, text) => {
  expect(spanText(seconds)).toBe(text);
});

test("colors are only for terminals", () => {
  expect(paintWith(false)("x", "bad")).toBe("x");
  expect(paintWith(true)("x", "bad")).toBe("\u{1b}[31mx\u{1b}[0m");
});

const startsAt = Date.parse("2026-01-01T00:00:00Z");
const after = (seconds: number): number => startsAt + seconds * 1000;

test.each<[string, number, boolean, number | undefined]>([
  ["ends 30s after its creation, at 2026-01-01T00:00:30Z", 30, false, after(30)],
  ["ends 30d after its last use, at 2026-01-31T00:00:00Z", 2_592_000, true, after(2_592_000)],
  ["does not expire; --ttl sets a lifetime", 0, false, undefined],
  ["ends 15m after its creation", 900, false, undefined],
  [
    "ends 24h after its creation, at 2026-01-02T00:00:00Z; its lifetime of 3d was cut",
    259_200,
    false,
    after(86_400),
  ],
  [
    "ends 24h after its creation, at 2026-01-02T00:00:00Z; no key lives longer here",
    0,
    false,
    after(86_400),
  ],
])("an object %s", (text, ttl, isIdle, endsAt) => {
  expect(endText({ ttl, isIdle, startsAt, endsAt })).toBe(text);
});
