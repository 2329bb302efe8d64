import { describe, expect, test } from "vitest";
import { readingBounds } from "../../src/api/reading-bounds.ts";
import { parsedBody } from "../../src/gateway/parsed-body.ts";

const { bodyOfOwnKind, yamlOfOwnKind } = readingBounds;

describe("a body in YAML is read as kube-apiserver reads it", () => {
  test.each<[string, unknown]>([
    ['{"a": [1]}', { a: [1] }],
    ["a: {b: [c]}\n", { a: { b: ["c"] } }],
    ["a:\n- b\n", { a: ["b"] }],
    ["a:\n", { a: null }],
    ["a: ~\n", { a: null }],
    ["a: |\n  b\n", { a: "b\n" }],
    ["? a\n: [b]\n", { a: ["b"] }],
    ['"\\x61": [b]\n', { a: ["b"] }],
    ["!!str a: !!seq [b]\n", { a: ["b"] }],
    ["a: &b [c]\n", { a: ["c"] }],
    ["a: &b [c]\nd: *b\n", { a: ["c"], d: ["c"] }],
    ["a: &b {c: [d]}\ne: {<<: *b}\n", { a: { c: ["d"] }, e: { c: ["d"] } }],
    ["a: b\na: [c]\n", { a: ["c"] }],
    ["---\na: [b]\n---\nc: d\n", { a: ["b"] }],
    ["\ufeff# a\n---\na: [b]\n...\n", { a: ["b"] }],
    ["1: [a]\n", { 1: ["a"] }],
  ])("%j", (text, said) => {
    expect(parsedBody(text, true)).toEqual(said);
  });

  test.each([
    "a: [b",
    "a: !b [c]\n",
    "a: *b\n",
    `a: &b [c]\n${"- *b\n".repeat(101)}`,
    `a: ${"[".repeat(200)}${"]".repeat(200)}\n`,
    `a: ${"b".repeat(yamlOfOwnKind.bytes)}\n`,
    "- a\n".repeat(yamlOfOwnKind.values),
  ])("or not at all", (text) => {
    expect(parsedBody(text, true)).toBeUndefined();
  });
});

describe("a body in JSON", () => {
  test.each<[string, unknown]>([
    ['{"a":[1]}', { a: [1] }],
    ['{"a":1,"a":[2]}', { a: [2] }],
    ['{"\\u0061":[1]}', { a: [1] }],
    [`{"a":"${"b".repeat(2 ** 20)}"}`, { a: "b".repeat(2 ** 20) }],
  ])("is read up to the bounds", (text, said) => {
    expect([parsedBody(text, false), parsedBody(text, true)]).toEqual([said, said]);
  });

  test.each([
    "a: [b]\n",
    '{"a":',
    `[${"1,".repeat(bodyOfOwnKind.values)}1]`,
    "[".repeat(100) + "]".repeat(100),
  ])("is not read beyond them, or if it is none", (text) => {
    expect(parsedBody(text, false)).toBeUndefined();
  });
});
