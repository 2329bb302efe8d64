import { expect, test } from "vitest";
import { strictJson } from "../../src/tokens/strict-json.ts";

test.each<[string, string | Uint8Array, unknown]>([
  ["a text", '{"a":1}', { a: 1 }],
  ["bytes", Buffer.from('"é"'), "é"],
  ["null", "null", null],
  ["text that is not JSON", "{a:1}", undefined],
  ["no text", "", undefined],
  ["bytes that are not UTF-8", Buffer.from([0x22, 0xe9, 0x22]), undefined],
  ["a byte order mark", Buffer.from("\ufeff{}"), undefined],
  ["a member __proto__, which is no prototype", '{"__proto__":1}', JSON.parse('{"__proto__":1}')],
])("strictJson reads %s", (_rule, source, value) => {
  expect(strictJson(source)).toEqual(value);
});
