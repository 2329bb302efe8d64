import { basename } from "node:path";
import { describe, expect, test } from "vitest";
import {
  parseAssignment,
  parseFileAssignment,
} from "../../../src/client/secrets/data-assignment.ts";

describe("an argument of set", () => {
  test.each([
    ["password", { key: "password", from: "prompt" }],
    ["password=-", { key: "password", from: "input" }],
    ["tls.crt=@a=b.crt", { key: "tls.crt", from: "file", path: "a=b.crt" }],
  ])("%s", (word, assignment) => {
    expect(parseAssignment(word, { literal: false })).toEqual(assignment);
  });

  test("is a value only with --literal", () => {
    expect(parseAssignment("a=@b=c", { literal: true })).toEqual({
      key: "a",
      from: "literal",
      text: "@b=c",
    });
    expect(() => parseAssignment("a=s3cret", { literal: false })).toThrow(/^a: other users/);
    expect(() => parseAssignment("a=s3cret", { literal: false })).not.toThrow("s3cret");
  });

  test.each([
    ["", ""],
    ["a b=@x", "a b"],
    ["=@x", ""],
    ["../x=-", "../x"],
    [`${"x".repeat(254)}=-`, `${"x".repeat(60)}...`],
  ])("%j has no valid data key, which is named", (word, key) => {
    const sentence = `data key "${key}" must have letters`;
    expect(() => parseAssignment(word, { literal: false })).toThrow(sentence);
  });
});

test.each([
  ["dir/tls.crt", { key: "tls.crt", from: "file", path: "dir/tls.crt" }],
  ["cert=dir/tls.crt", { key: "cert", from: "file", path: "dir/tls.crt" }],
])("--from-file=%s", (text, assignment) => {
  expect(parseFileAssignment(text, (path) => basename(path))).toEqual(assignment);
});
