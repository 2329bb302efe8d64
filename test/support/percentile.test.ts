import { describe, expect, it } from "vitest";
import { percentile } from "./percentile.ts";

const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);

describe("percentile", () => {
  it.each([
    { of: "the middle of 1 to 100", values: hundred, p: 0.5, is: 50 },
    { of: "the 99th percentile of 1 to 100", values: hundred, p: 0.99, is: 99 },
    { of: "the maximum of 1 to 100", values: hundred, p: 1, is: 100 },
    { of: "the minimum of 1 to 100", values: hundred, p: 0, is: 1 },
    {
      of: "the maximum of ten values as their 99th percentile",
      values: [3, 1, 2, 9, 8, 7, 6, 5, 4, 10],
      p: 0.99,
      is: 10,
    },
    { of: "the only value", values: [7], p: 0.5, is: 7 },
    { of: "NaN without values", values: [], p: 0.5, is: Number.NaN },
  ])("finds $of", ({ values, p, is }) => {
    expect(percentile(values, p)).toBe(is);
  });
});
