import { expect, test } from "vitest";
import { withoutEnd } from "../../src/api/text-end.ts";

test.each([
  ["a/b//", "/", "a/b"],
  ["//", "/", ""],
  ["", "/", ""],
  ["/a", "/", "/a"],
  ["a-.b.-", "-.", "a-.b"],
])("%j without %j at its end is %j", (text, characters, rest) => {
  expect(withoutEnd(text, characters)).toBe(rest);
});
