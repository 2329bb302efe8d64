import { describe, expect, test } from "vitest";
import { isLabelSelector } from "../../../src/domain/gateway/label-selector.ts";

describe("a label selector is certainly valid:", () => {
  test.each([
    "",
    "a",
    "!a",
    "! example.com/a",
    "a=b,c == d, e!=",
    "a in (b,c, d),e notin(f), g in ()",
    `${"a".repeat(63)}=${"b".repeat(63)}`,
  ])("%j", (text) => {
    expect(isLabelSelector(text)).toBe(true);
  });

  test.each([
    ["an empty requirement", "a,"],
    ["two blanks", "a,  b"],
    ["a blank at the beginning", " a"],
    ["an operation on a key that must be missing", "!a=b"],
    ["a value without a key", "=b"],
    ["two values", "a=b=c"],
    ["a name that begins with a dash", "-a"],
    ["a value that ends with a dot", "a=b."],
    ["a set without its end", "a in (b"],
    ["a set in a set", "a in ((b))"],
    ["a value of a set that is none", "a in (b,c-)"],
    ["a blank before the first value of a set", "a in ( b)"],
    ["two slashes in a key", "a/b/c"],
    ["a long name", "a".repeat(64)],
    ["a long domain", `${"a.".repeat(126)}aa/b`],
    ["a text of more than 4096 characters", `${"a,".repeat(2048)}a`],
  ])("not %s", (_what, text) => {
    expect(isLabelSelector(text)).toBe(false);
  });
});
