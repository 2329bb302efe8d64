import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { excessIn, hasMemberTwice } from "../../src/api/bounded-json.ts";
import { runs } from "../support/property-runs.ts";

const bounds = { values: 6, depth: 3 };

describe("excessIn", () => {
  test.each([
    ["a value", "1", undefined],
    ["as many values as may be", "[1,2,3,4,5]", undefined],
    ["one more", "[1,2,3,4,5,6]", "more than 6 values"],
    ["as many levels as may be", "[[[]]]", undefined],
    ["one more level", "[[[[]]]]", "more than 3 levels"],
    ["levels one after the other", "[[],[]]", undefined],
    ["brackets and commas in a string", String.raw`["[[[[,,,,,,\\",1]`, undefined],
    ["an escaped quote", String.raw`["\",,,,,,,["]`, undefined],
    ["a string without an end", `["${",".repeat(100)}`, undefined],
    ["objects", `{"a":{"b":{"c":{}}}}`, "more than 3 levels"],
  ])("%s", (_what, text, excess) => {
    expect(excessIn(text, bounds)).toBe(excess);
  });

  test("finds the values and levels of any JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const [values, depth] = sizeOf(value);
        const text = JSON.stringify(value);
        expect(excessIn(text, { values: 2 * values, depth })).toBeUndefined();
        const isFlat = excessIn(text, { values: 1_000, depth: depth - 1 }) === undefined;
        expect(isFlat).toBe(depth === 0);
      }),
      runs(200),
    );
  });

  test("ends for any text", () => {
    const part = fc.constantFrom("[", "]", "{", "}", ",", '"', "\\", "a");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 50 }), (parts) => {
        const excess = excessIn(parts.join(""), bounds);
        expect(excess === undefined || excess.startsWith("more than")).toBe(true);
      }),
      runs(200),
    );
  });
});

/** The number of values, and of levels, of a value. */
function sizeOf(value: unknown): readonly [values: number, depth: number] {
  if (typeof value !== "object" || value === null) return [1, 0];
  const sizes = Object.values(value).map(sizeOf);
  const values = sizes.reduce((sum, [own]) => sum + own, 1);
  return [values, sizes.reduce((most, [, depth]) => Math.max(most, depth), 0) + 1];
}

describe("hasMemberTwice", () => {
  test.each([
    [`{"a":1,"b":1}`, false],
    [`{"a":1,"a":2}`, true],
    [String.raw`{"a":1,"\u0061":2}`, true],
    [`{"a":{"a":1}}`, false],
    [`{"a":{"b":1,"b":2}}`, true],
    [`[{"a":1},{"a":2}]`, false],
    [`{"a":"a","b":"a"}`, false],
    [`{"a" :1 , "a" :2}`, true],
    [`{"a":["a","a"]}`, false],
    [String.raw`{"a\"":1,"a":2}`, false],
    [`{"__proto__":1,"a":2,"__proto__":3}`, true],
    [`"a"`, false],
  ])("%s: %j", (text, isTwice) => {
    expect(hasMemberTwice(text)).toBe(isTwice);
  });

  test("finds none in what JSON.stringify writes", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(hasMemberTwice(JSON.stringify(value, undefined, 1))).toBe(false);
      }),
      runs(200),
    );
  });
});
