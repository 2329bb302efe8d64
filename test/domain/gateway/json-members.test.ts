import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jsonMembers } from "../../../src/domain/gateway/json-members.ts";
import { runs } from "../../support/property-runs.ts";

const names = ["apiVersion", "kind"];
const found = (text: string) => {
  const members = jsonMembers(text, names);
  return members === undefined ? undefined : [...members.found];
};

describe("the members of a JSON object", () => {
  test.each<[string, readonly string[]]>([
    ["{}", []],
    [' \r\n{\t"kind" : "x" }\n', ["kind"]],
    ['{"kind":null,"apiVersion":1,"kind":2}', ["kind", "apiVersion"]],
    ['{"a":{"kind":"x"},"b":[{"kind":1},[]],"c":"{\\"kind\\":1}"}', []],
    ['{"a":"\\\\","kind":1}', ["kind"]],
    ['{"a":"kind","Kind":1,"kinds":1,"kin":1,"":1}', []],
    ['{"k\\u0069nd":1}', ["apiVersion", "kind"]],
    [`{"${"a".repeat(1_000)}\\n":1}`, []],
  ])("in %s are %j", (text, expected) => {
    expect(found(text)).toEqual(expected);
  });

  test.each([
    "",
    "kind",
    "[]",
    '"{}"',
    "{",
    "}",
    "{}}",
    "{} {}",
    "{},{}",
    '{"a":[,1]}',
    '{"a":[1,,1]}',
    "{}\ufeff",
    '{"a":1',
    '{"a":"1}',
    '{"a":"\\"}',
    "{a:1}",
    '{"a"}',
    '{"a",}',
    '{"a":1,"kind"}',
    '{"a":1,}',
    '{"a":}',
    '{"a" 1}',
    '{"a":1 "kind":2}',
    '{"a":b"c"}',
    '{"a":["b"c]}',
    "{'kind':1}",
    '{"a":1 # "kind"\n}',
    '{"a":&b 1}',
  ])("are not known of %j, which is none", (text) => {
    expect(found(text)).toBeUndefined();
  });

  test("begin where one can be added, with a comma behind it unless there are none", () => {
    expect(jsonMembers(' {"a":1}', names)).toMatchObject({ start: 2, isEmpty: false });
    expect(jsonMembers("{ }", names)).toMatchObject({ start: 1, isEmpty: true });
    expect(jsonMembers('{"a":{}}', names)).toMatchObject({ isEmpty: false });
  });

  test("are at least those that JSON.parse finds", () => {
    const name = fc.oneof(fc.constantFrom("kind", "apiVersion", "a", "\\", '"'), fc.string());
    const object = fc.dictionary(name, fc.jsonValue());
    fc.assert(
      fc.property(object, fc.nat({ max: 3 }), (value, indentation) => {
        const own = names.filter((wanted) => Object.hasOwn(value, wanted));
        const text = JSON.stringify(value, undefined, indentation);
        expect(found(text)).toEqual(expect.arrayContaining(own));
        expect(text.includes("\\") ? names : own).toEqual(
          expect.arrayContaining(found(text) ?? []),
        );
      }),
      runs(200),
    );
  });
});
