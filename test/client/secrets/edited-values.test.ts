import { describe, expect, test } from "vitest";
import {
  applied,
  changeBetween,
  conflictingKeys,
  editorText,
  parseEdited,
  withoutHead,
} from "../../../src/client/secrets/edited-values.ts";

const values = new Map([
  ["password", Buffer.from("a: 'b'\n# c\n")],
  ["yes", Buffer.from("true")],
  ["bin", Buffer.from([0xff, 0])],
]);

test("what an editor shows is read back unchanged", () => {
  const text = editorText(values, { name: "db", problem: "the reason" });
  expect(text).toContain("# Not stored: the reason.\n");
  expect(withoutHead(text)).toMatch(/^data:\n/);
  const back = parseEdited(text);
  expect(back).toBeInstanceOf(Map);
  expect(changeBetween(values, back instanceof Map ? back : new Map())).toEqual({
    set: new Map(),
    removed: [],
  });
});

describe("an invalid text has a problem, which quotes no value", () => {
  test.each([
    ["a: [s3cret", "the file is not a valid YAML document"],
    ["s3cret", "the file must have the field data"],
    ["other: s3cret", "the file has a field other than data and binaryData"],
    ["data: [s3cret]", "data must have keys and values"],
    ["data: {a: 7}", "the value of a must be text; quote it"],
    [
      "data: {a b: s3cret}",
      'data key "a b" must have letters, digits, -, _ and . only, and at most 253 of them',
    ],
    ["binaryData: {a: s3cret}", "the value of a is not base64"],
    ["data: {a: x}\nbinaryData: {a: eA==}", "a is under data and under binaryData"],
  ])("%s", (text, problem) => {
    expect(parseEdited(text)).toBe(problem);
  });
});

test("a change sets and removes keys, and two changes may conflict", () => {
  const after = new Map([
    ["password", Buffer.from("new")],
    ["yes", Buffer.from("true")],
  ]);
  const change = changeBetween(values, after);
  expect(change).toEqual({ set: new Map([["password", Buffer.from("new")]]), removed: ["bin"] });
  expect(applied(values, change)).toEqual(after);
  const other = { set: new Map([["bin", Buffer.from("x")]]), removed: ["other"] };
  expect(conflictingKeys(change, other)).toEqual(["bin"]);
});
