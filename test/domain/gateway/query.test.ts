import { describe, expect, it } from "vitest";
import { parseQuery, valuesOf } from "../../../src/domain/gateway/query.ts";

describe("a query", () => {
  it.each<[string, readonly (readonly [string, string | undefined])[]]>([
    ["", []],
    ["?", []],
    ["?&&", []],
    ["?a", [["a", ""]]],
    ["?a=", [["a", ""]]],
    ["?=b", [["", "b"]]],
    ["?a=b=c", [["a", "b=c"]]],
    [
      "?a=1&a=2",
      [
        ["a", "1"],
        ["a", "2"],
      ],
    ],
    ["?a+b=c+d", [["a b", "c d"]]],
    ["?a%3Db=%26", [["a=b", "&"]]],
    ["?w%61tch=1", [["watch", "1"]]],
    ["?a=%2B", [["a", "+"]]],
    ["?a=b?c", [["a", "b?c"]]],
    ["?a=%ff", [["a", undefined]]],
    ["?%ff=a&b=c", [["b", "c"]]],
  ])("%j is read as Go reads it", (query, parameters) => {
    expect(parseQuery(query)).toEqual(parameters);
  });

  it("has the values of a name in their order, those that are not UTF-8 as undefined", () => {
    const parameters = parseQuery("?a=1&b=2&a=%ff&A=3&a=");
    expect(valuesOf(parameters, "a")).toEqual(["1", undefined, ""]);
    expect(valuesOf(parameters, "c")).toEqual([]);
  });
});
