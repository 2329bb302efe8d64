import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { createDataDigest } from "../../src/tokens/data-digest.ts";

const digest = createDataDigest();
const of = (data: Record<string, string>) =>
  digest(
    Object.fromEntries(Object.entries(data).map(([name, text]) => [name, new SecretText(text)])),
  );
const base64 = (text: string) => Buffer.from(text).toString("base64");
const datas = fc.dictionary(
  fc.stringMatching(/^[-._a-zA-Z0-9]{1,4}$/),
  fc.string({ maxLength: 4 }).map(base64),
  { maxKeys: 4 },
);

describe("the digest of data", () => {
  test.each([
    [
      "is independent of the order of keys",
      { a: "MQ==", b: "Mg==" },
      { b: "Mg==", a: "MQ==" },
      true,
    ],
    ["is independent of the unused bits of base64", { a: "MQ==" }, { a: "MR==" }, true],
    ["differs by value", { a: "MQ==" }, { a: "Mg==" }, false],
    ["differs by key", { a: "MQ==" }, { b: "MQ==" }, false],
    [
      "differs if characters move between key and value",
      { ab: base64("c") },
      { a: base64("bc") },
      false,
    ],
    ["differs between no data and an empty value", {}, { a: "" }, false],
  ])("%s", (_rule, one, other, same) => {
    expect(of({ ...one }) === of({ ...other })).toBe(same);
  });

  test("is equal only for equal data", () => {
    fc.assert(
      fc.property(datas, datas, (one, other) => {
        expect(of(one) === of(other)).toBe(isDeepStrictEqual({ ...one }, { ...other }));
      }),
    );
  });

  test("differs between instances", () => {
    expect(createDataDigest()({})).not.toBe(digest({}));
  });
});
