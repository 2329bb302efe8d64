import { format, inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";

const canary = "canary";
const secret = new SecretText(canary);

test.for<[string, string]>([
  ["a template", `${String(secret)}`],
  ["JSON", JSON.stringify({ secret, list: [secret] })],
  [
    "util.inspect, however deep",
    inspect({ a: { b: { c: { d: secret } } } }, { depth: null, showHidden: true }),
  ],
  ["util.format", format("%s %o %j %O", secret, secret, secret, secret)],
  ["an error's message", new Error(`no ${secret.toString()}`).stack ?? ""],
  ["its own fields", JSON.stringify(Object.getOwnPropertyDescriptors(secret))],
  ["a concatenation", "" + String(secret)],
])("it does not show in %s", ([, shown]) => {
  expect(shown).not.toContain(canary);
});

test("it is taken out on purpose alone", () => {
  expect(SecretText.reveal(secret)).toBe(canary);
});

describe("what can be asked without taking it out", () => {
  test("is whether there is anything", () => {
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
    "is whether it is padded base64, and whether it has a line break: %j",
    ([text, isBase64, hasLineBreak]) => {
      const { isBase64: padded, hasLineBreak: broken } = new SecretText(text);
      expect([padded, broken]).toEqual([isBase64, hasLineBreak]);
    },
  );

  test("is how many bytes its base64 stands for", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const text = Buffer.from(bytes).toString("base64");
        expect(new SecretText(text).base64Bytes).toBe(Buffer.byteLength(text, "base64"));
        expect(new SecretText(text).base64Bytes).toBe(bytes.length);
      }),
    );
  });
});
