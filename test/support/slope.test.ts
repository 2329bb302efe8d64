import { describe, expect, test } from "vitest";
import { lowsOf, slopeOf } from "./slope.ts";

const points = (...values: readonly number[]) =>
  values.map((value, index) => ({ at: 5 + index, value }));

describe("the slope of points", () => {
  test.each([
    ["that rise evenly is their rise per unit", points(100, 102, 104, 106), 2],
    ["that stay the same is 0", points(180, 180, 180), 0],
    ["that fall is negative", points(9, 8, 7), -1],
    [
      "that jump to and fro is that of the middle",
      [0, 1, 2, 3].flatMap((at) => [
        { at, value: at + 5 },
        { at, value: at - 5 },
      ]),
      1,
    ],
    [
      "that are not evenly apart is the line's",
      [
        { at: 0, value: 1 },
        { at: 1, value: 3 },
        { at: 10, value: 21 },
      ],
      2,
    ],
  ])("%s", (_, given, expected) => {
    expect(slopeOf(given)).toBeCloseTo(expected, 10);
  });

  test("of points at one instant is NaN", () => {
    expect(
      slopeOf([
        { at: 1, value: 1 },
        { at: 1, value: 2 },
      ]),
    ).toBeNaN();
    expect(slopeOf([])).toBeNaN();
  });
});

test("the lows are the lowest of each window, and an empty window has none", () => {
  const given = [3, 1, 2, 9, 8].map((value, index) => ({
    at: index < 3 ? index / 10 : 4 + index / 10,
    value,
  }));
  expect(lowsOf(given, 1)).toEqual([
    { at: 0.1, value: 1 },
    { at: 4.4, value: 8 },
  ]);
});
