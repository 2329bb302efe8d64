import { describe, expect, test } from "vitest";
import { blocksOf, isPrinted, stepsOf } from "./doc-blocks.ts";

test("blocks have their language, without the indentation of a list", () => {
  const page = "a\n\n```sh\nls\n```\n\n1. b\n\n   ```console\n   $ ls\n     x\n   ```\n";
  expect(blocksOf(page)).toEqual([
    { language: "sh", text: "ls\n" },
    { language: "console", text: "$ ls\n  x\n" },
  ]);
});

describe("a block has the commands that a user pastes", () => {
  test.each([
    ["sh", "a # b\n# c\n\nd", ["a # b", "d"]],
    ["sh", "a \\\n  b\nc |\n  d", ["a \\\n  b", "c |\n  d"]],
    ["sh", "a - <<EOF\nb\nEOF\nc", ["a - <<EOF\nb\nEOF", "c"]],
    ["sh", "echo 'a\nb' x\nc", ["echo 'a\nb' x", "c"]],
    ["sh", "for a in b; do\n  c\ndone\nd", ["for a in b; do\n  c\ndone", "d"]],
    ["sh", "a   # alice's key\nb", ["a   # alice's key", "b"]],
    ["console", "$ a\nout\n$ b", ["a", "b"]],
    ["console", "$ a - <<EOF\n$ x\nEOF\nout\n", ["a - <<EOF\n$ x\nEOF"]],
  ])("%s %j", (language, text, commands) => {
    expect(stepsOf({ language, text }).map(({ command }) => command)).toEqual(commands);
  });

  test.each([
    ["sh", "a  # Forbidden: because", undefined, true],
    ["sh", "a  # refused", undefined, true],
    ["sh", "a  # allowed", undefined, false],
    ["console", "$ a\nError from server (Forbidden): b", "Error from server (Forbidden): b", true],
    ["console", "$ a\nb\nc\n", "b\nc", false],
    ["console", "$ a", undefined, false],
  ])("%s %j", (language, text, expected, isRefused) => {
    expect(stepsOf({ language, text })).toMatchObject([{ expected, isRefused }]);
  });
});

test("output before the first prompt is an error", () => {
  expect(() => stepsOf({ language: "console", text: "out\n$ a" })).toThrow('"out" is no command');
});

describe("what is printed may differ in", () => {
  test.each([
    ["nothing", "a b", "a b\n", true],
    ["nothing else", "a b", "a c", false],
    ["the width of columns", "NAME  AGE", "NAME        AGE  ", true],
    ["an age", "database  5s", "database   2m10s", true],
    ["no part of a name", "web5s", "web6s", false],
    ["a time", "until 2026-11-21T14:00:00Z", "until 2027-01-01T00:00:01Z", true],
    ["a port", "https://127.0.0.1:1/a", "https://127.0.0.1:65000/a", true],
    ["a digest", "latchkey-db-0123456789abcdef", "latchkey-db-fedcba9876543210", true],
    ["what dots stand for", "Error: ... no", "Error: because of (this) no", true],
    ["dots before a colon", "Error ... no ...", "Error: no: because", true],
    ["lines that dots stand for", "a\n...\nd", "a\nb\nc\nd", true],
    ["a line less", "a\nb", "a", false],
    ["the layout of JSON", '{"a": [1]}', '{\n  "a": [\n    1\n  ]\n}\n', true],
    ["a part of a value of JSON", '{"a": "LS0..."}', '{"a":\n"LS0tLS1C"}', true],
    ["no value of JSON", '{"a": [1]}', '{"a": [2]}', false],
  ])("%s", (_what, expected, printed, isSame) => {
    expect(isPrinted(expected, printed)).toBe(isSame);
  });
});
