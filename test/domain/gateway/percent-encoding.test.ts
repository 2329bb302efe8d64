import { describe, expect, it } from "vitest";
import { hasValidPercents, percentDecoded } from "../../../src/domain/gateway/percent-encoding.ts";

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
