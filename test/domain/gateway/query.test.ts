import { describe, expect, it } from "vitest";
import {
  parseQuery,
  parameterValues,
  hasValidPercents,
  percentDecoded,
} from "../../../src/domain/gateway/query.ts";

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
    expect(parameterValues(parameters, "a")).toEqual(["1", undefined, ""]);
    expect(parameterValues(parameters, "c")).toEqual([]);
  });
});

describe("a percent-encoded text", () => {
  it.each([
    ["", ""],
    ["a/b", "a/b"],
    ["a%20b", "a b"],
    ["%c3%bc%C3%BC", "üü"],
    ["%25%32%35", "%25"],
    ["%f0%9f%94%91", "🔑"],
    ["%ef%bb%bfa", "\ufeffa"],
    ["%00", "\u0000"],
    ["a+b", "a+b"],
  ])("%j is decoded once, as %j", (text, decoded) => {
    expect(percentDecoded(text)).toBe(decoded);
  });

  it.each([
    ["a percent sign alone", "a%"],
    ["one digit", "a%2"],
    ["no digits", "a%zz"],
    ["half a digit", "a%2g"],
    ["a byte that is not UTF-8", "%ff"],
    ["a slash in two bytes", "%c0%af"],
    ["a surrogate", "%ed%a0%80"],
    ["a character that is cut off", "%f0%9f%94"],
    ["a character past Unicode", "%f4%90%80%80"],
  ])("with %s is none", (_what, text) => {
    expect(percentDecoded(text)).toBeUndefined();
  });

  it.each([
    ["%zz", false],
    ["%2", false],
    ["%", false],
    ["%2f%2F", true],
    ["%ff", true],
    ["", true],
  ])("%j has two digits behind each percent sign: %s", (text, is) => {
    expect(hasValidPercents(text)).toBe(is);
  });
});
