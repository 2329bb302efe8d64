import { expect, test } from "vitest";
import { withoutEnd, withoutMiddle } from "../../src/api/text-end.ts";

test.each([
  ["a/b//", "/", "a/b"],
  ["//", "/", ""],
  ["", "/", ""],
  ["/a", "/", "/a"],
  ["a-.b.-", "-.", "a-.b"],
])("%j without %j at its end is %j", (text, characters, rest) => {
  expect(withoutEnd(text, characters)).toBe(rest);
});

test.each([
  ["short", 5, "short"],
  [`Invalid value: "${"x".repeat(40)}": must be other`, 36, 'Invalid value: "xxx ... ust be other'],
])("%j of at most %d characters is %j", (text, most, rest) => {
  expect(withoutMiddle(text, most)).toBe(rest);
  expect(rest.length).toBeLessThanOrEqual(most);
});
