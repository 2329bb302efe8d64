import { describe, expect, it } from "vitest";
import { percentile } from "./percentile.ts";

const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);

describe("percentile", () => {
  it.each([
    { of: "the middle of 1 to 100", values: hundred, p: 0.5, is: 50 },
    { of: "99 % of 1 to 100", values: hundred, p: 0.99, is: 99 },
    { of: "all of 1 to 100", values: hundred, p: 1, is: 100 },
    { of: "nothing of 1 to 100", values: hundred, p: 0, is: 1 },
    {
      of: "99 % of ten values, which is their largest",
      values: [3, 1, 2, 9, 8, 7, 6, 5, 4, 10],
      p: 0.99,
      is: 10,
    },
    { of: "one value", values: [7], p: 0.5, is: 7 },
    { of: "no value", values: [], p: 0.5, is: Number.NaN },
  ])("finds $of", ({ values, p, is }) => {
    expect(percentile(values, p)).toBe(is);
  });
});
