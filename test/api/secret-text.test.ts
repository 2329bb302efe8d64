import { format, inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";

const canary = "canary";
const secret = new SecretText(canary);

test.for<[string, string]>([
  ["a template literal", `${String(secret)}`],
  ["JSON", JSON.stringify({ secret, list: [secret] })],
  [
    "util.inspect at any depth",
    inspect({ a: { b: { c: { d: secret } } } }, { depth: null, showHidden: true }),
  ],
  ["util.format", format("%s %o %j %O", secret, secret, secret, secret)],
  ["the message of an error", new Error(`no ${secret.toString()}`).stack ?? ""],
  ["its own properties", JSON.stringify(Object.getOwnPropertyDescriptors(secret))],
  ["a concatenation", "" + String(secret)],
])("the value is not visible in %s", ([, shown]) => {
  expect(shown).not.toContain(canary);
});

test("reveal returns the value", () => {
  expect(SecretText.reveal(secret)).toBe(canary);
});

describe("a SecretText reports without its value", () => {
  test("whether it is empty", () => {
    expect([secret.isEmpty, new SecretText("").isEmpty]).toEqual([false, true]);
  });

  test.for<[string, boolean, boolean]>([
    ["", true, false],
    ["QQ==", true, false],
    ["QUE=", true, false],
    ["QUFB", true, false],
    ["QQ", false, false],
    ["Q===", false, false],
    ["QQ=A", false, false],
    ["QU-_", false, false],
    ["QUF\n", false, true],
    ["QUFB\r\n", false, true],
  ])(
    "whether it is padded base64 and whether it has a line break: %j",
    ([text, isBase64, hasLineBreak]) => {
      const { isBase64: padded, hasLineBreak: broken } = new SecretText(text);
      expect([padded, broken]).toEqual([isBase64, hasLineBreak]);
    },
  );

  test("its decoded length in bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const text = Buffer.from(bytes).toString("base64");
        expect(new SecretText(text).base64Bytes).toBe(Buffer.byteLength(text, "base64"));
        expect(new SecretText(text).base64Bytes).toBe(bytes.length);
      }),
    );
  });
});
