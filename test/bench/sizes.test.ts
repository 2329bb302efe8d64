import { expect, test } from "vitest";
import { sizeNamed } from "./sizes.ts";

test.each([
  { given: undefined, is: "small" },
  { given: "", is: "small" },
  { given: "tiny", is: "tiny" },
  { given: "full", is: "full" },
])("SIZE=$given is $is", ({ given, is }) => {
  expect(sizeNamed(given).name).toBe(is);
});

test("another SIZE is rejected with a list of the valid sizes", () => {
  expect(() => sizeNamed("huge")).toThrow('SIZE is "huge": it must be tiny, small, full');
});
