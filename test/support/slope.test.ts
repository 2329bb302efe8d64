import { describe, expect, test } from "vitest";
import { lowsOf, slopeOf } from "./slope.ts";

const points = (...values: readonly number[]) =>
  values.map((value, index) => ({ at: 5 + index, value }));

describe("slopeOf", () => {
  test.each([
    ["is the increase per unit if points increase evenly", points(100, 102, 104, 106), 2],
    ["is 0 if points stay the same", points(180, 180, 180), 0],
    ["is negative if points decrease", points(9, 8, 7), -1],
    [
      "is that of the middle if points alternate",
      [0, 1, 2, 3].flatMap((at) => [
        { at, value: at + 5 },
        { at, value: at - 5 },
      ]),
      1,
    ],
    [
      "is that of the line if points are not evenly spaced",
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

  test("is NaN for points at one time", () => {
    expect(
      slopeOf([
        { at: 1, value: 1 },
        { at: 1, value: 2 },
      ]),
    ).toBeNaN();
    expect(slopeOf([])).toBeNaN();
  });
});

test("lowsOf returns the lowest point of each window, and none for an empty window", () => {
  const given = [3, 1, 2, 9, 8].map((value, index) => ({
    at: index < 3 ? index / 10 : 4 + index / 10,
    value,
  }));
  expect(lowsOf(given, 1)).toEqual([
    { at: 0.1, value: 1 },
    { at: 4.4, value: 8 },
  ]);
});
