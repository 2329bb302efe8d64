import { expect, test } from "vitest";
import { encodedValue, plainValues } from "../../src/tokens/shared-values.ts";

test("values are decoded in the order of their keys", () => {
  const raw = { spec: { data: { b: "Yg==", a: "//4=", wrong: 1 } } };
  expect([...plainValues(raw)]).toEqual([
    ["a", Buffer.from([0xff, 0xfe])],
    ["b", Buffer.from("b")],
  ]);
  expect(plainValues({})).toEqual(new Map());
});

test("an encoded value cannot be printed", () => {
  expect(String(encodedValue(Buffer.from("x")))).toBe("[secret]");
});
