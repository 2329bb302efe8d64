import { expect, test } from "vitest";
import {
  isAdmissionSegment,
  isSameText,
  newAdmissionSegment,
} from "../../src/tokens/random-text.ts";

test("newAdmissionSegment returns a new segment each time, which needs no escapes in a path", () => {
  const made = Array.from({ length: 100 }, newAdmissionSegment);
  expect([
    new Set(made).size,
    made.every(isAdmissionSegment),
    made.every((segment) => encodeURIComponent(segment) === segment),
  ]).toEqual([100, true, true]);
});

test.each<[string, boolean]>([
  ["a".repeat(32), true],
  ["a".repeat(31), false],
  ["a".repeat(129), false],
  [`${"a".repeat(40)}/`, false],
  [`${"a".repeat(40)}%2f`, false],
  ["", false],
])("isAdmissionSegment of %s is %s", (text, expected) => {
  expect(isAdmissionSegment(text)).toBe(expected);
});

test.each<[string, string, boolean]>([
  ["abc", "abc", true],
  ["abc", "abd", false],
  ["abc", "ab", false],
  ["", "abc", false],
])("isSameText of %s and %s is %s", (one, other, expected) => {
  expect(isSameText(one, other)).toBe(expected);
});
