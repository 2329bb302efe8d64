import { describe, expect, test } from "vitest";
import { documentStart, yamlKeys } from "../../../src/domain/gateway/yaml-keys.ts";

const names = ["apiVersion", "kind"];

describe("the keys of a YAML mapping in blocks", () => {
  test.each<[string, readonly string[]]>([
    ["kind: a\nspec: {}\napiVersion: b", ["kind", "apiVersion"]],
    ["'kind' : a\r\n\"apiVersion\"\t: b", ["kind", "apiVersion"]],
    ["a: b\rkind: c", ["kind"]],
    ["\ufeffkind: a", ["kind"]],
    ["? kind\n: a\n", names],
    ["!!str kind: a\n", names],
    ["&a kind: a\n", names],
    ["*a : b\n", names],
    ['"\\x6bind": a\n', names],
    ['"\\x6bind"\n', []],
    ["a: *b\nc: !d e\n", []],
    ["a: b\u2028kind: c", ["kind"]],
    ["kind\n: a", ["kind"]],
    ["spec:\n  kind: a\n- kind: b\nkinds: c\nkin: d\nmankind: e\n#kind: f", []],
    ["a: {kind: b}, kind: c", []],
    ["kind", []],
    ["", []],
  ])("in %j are %j", (text, found) => {
    expect([...yamlKeys(text, names, true)]).toEqual(found);
  });
});

describe("the keys of a YAML mapping in braces", () => {
  test.each<[string, readonly string[]]>([
    ["{kind: a}", ["kind"]],
    ["{a: b,kind : c, 'apiVersion': d}", ["kind", "apiVersion"]],
    ["{\n  kind\n: a}", ["kind"]],
    ["{kind, apiVersion}", ["kind", "apiVersion"]],
    ["{kind # a\n: b}", ["kind"]],
    ["{a: {kind: b}}", ["kind"]],
    ["{a: kinds, mankind: b, kin: d}", []],
  ])("in %j may be %j", (text, found) => {
    expect([...yamlKeys(text, names, false)]).toEqual(found);
  });
});

describe("the first document begins", () => {
  test.each([
    ["at once", "a: b\n---\n", 0],
    ["behind a byte order mark", "\ufeffa: b\n", 1],
    ["behind ---", "---\na: b\n", 4],
    ["behind --- and a comment", "--- # a\r\na: b\n", 9],
    ["behind a byte order mark and ---", "\ufeff---\na: b\n", 5],
    ["behind directives, comments and blank lines", "%YAML 1.2\n# a\r\n \t\r\n\n---\na: b", 24],
    ["behind --- and a comment that is indented", " # a\n---\n # b\na: b\n", 14],
    ["in a line of ---, if it is in braces", "---  {a: b}\n", 5],
    ["behind a comment", "# a\na: b\n", 4],
    ["at once, if --- is not at the beginning of its line", " ---\na: b\n", 0],
    ["at once, if --- is a value", "--- a\n", 0],
    ["before ---, if it does not end", "# a\n---", 4],
    ["at once, if it is empty", "", 0],
  ])("%s: %j", (_where, text, start) => {
    expect(documentStart(text)).toBe(start);
  });
});
