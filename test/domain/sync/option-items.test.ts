import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { itemBounds, optionItems } from "../../../src/domain/sync/option-items.ts";
import { runs } from "../../support/property-runs.ts";

/** The items as pairs; throws if the text is refused. */
function pairsOf(text: string | undefined) {
  const items = optionItems(text);
  if (items.kind === "refused") throw new Error(items.why);
  return items.items.map(({ key, value }) => [key, value]);
}

describe("items of an annotation", () => {
  test.for<[string, string | undefined, readonly (readonly [string, string | undefined])[]]>([
    ["no annotation", undefined, []],
    ["an empty text", " ,\n, ", []],
    ["one item", "a=b", [["a", "b"]]],
    [
      "separated by commas and line breaks",
      "a=1,b=2\nc=3\r\nd=4,\n",
      [
        ["a", "1"],
        ["b", "2"],
        ["c", "3"],
        ["d", "4"],
      ],
    ],
    [
      "with spaces around keys and values",
      "  a = 1 ,\n  b\t=\t2  3 ",
      [
        ["a", "1"],
        ["b", "2  3"],
      ],
    ],
    ["with an equals sign in the value", "a=b=c", [["a", "b=c"]]],
    [
      "without a value",
      "a, b=",
      [
        ["a", undefined],
        ["b", ""],
      ],
    ],
    [
      "with an escaped comma",
      String.raw`a=1\,2,b=3`,
      [
        ["a", "1,2"],
        ["b", "3"],
      ],
    ],
    [
      "with an escaped backslash before a comma",
      String.raw`a=1\\,b=2`,
      [
        ["a", "1\\"],
        ["b", "2"],
      ],
    ],
    ["with both", String.raw`a=\\\,\\`, [["a", "\\,\\"]]],
  ])("%s", ([, text, pairs]) => {
    expect(pairsOf(text)).toEqual(pairs);
  });

  test.for<[string, string, string]>([
    ["too many bytes", "é".repeat(513), "has 1026 bytes; must have at most 1024"],
    [
      "too many items",
      Array.from({ length: 17 }, (_, index) => `k${index}=`).join(),
      "has 17 items; must have at most 16",
    ],
    ["a key twice", "a=1, b=2, a=3", 'has the key "a" twice; remove one item'],
    [
      "another escape",
      String.raw`a=\n`,
      "a backslash must be followed by a comma or by a backslash",
    ],
    ["a backslash before a line break", "a=\\\nb=1", '"a=\\\\" is invalid'],
    ["a backslash at the end", "a=\\", '"a=\\\\" is invalid'],
  ])("are refused with %s", ([, text, why]) => {
    expect(optionItems(text)).toMatchObject({
      kind: "refused",
      why: expect.stringContaining(why),
    });
  });

  test("are those that were written, whatever their values", () => {
    const value = fc
      .string({ unit: fc.constantFrom("a", ",", "\\", "=", " ", "é", '"'), maxLength: 12 })
      .map((text) => text.trim());
    fc.assert(
      fc.property(fc.array(value, { maxLength: itemBounds.items }), (values) => {
        const escaped = values.map((text, at) => `k${at}=${text.replaceAll(/[\\,]/g, "\\$&")}`);
        expect(pairsOf(escaped.join(","))).toEqual(values.map((text, at) => [`k${at}`, text]));
        expect(pairsOf(escaped.join("\n"))).toEqual(values.map((text, at) => [`k${at}`, text]));
      }),
      runs(500),
    );
  });

  test("of any text are read or refused in a short sentence, without backtracking", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const items = optionItems(text);
        expect(items.kind === "items" || items.why.length < 300).toBe(true);
      }),
    );
    expect(optionItems("\\\\".repeat(512)).kind).toBe("items");
  });
});
