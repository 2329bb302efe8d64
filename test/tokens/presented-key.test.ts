import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { digestOfPresented, generateKey, isSameDigest } from "../../src/tokens/presented-key.ts";

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");
const generated = (): string => SecretText.reveal(generateKey());

describe("what is presented as a key", () => {
  test.each(["0123456789abcdef", "a".repeat(512), "user-chosen.key_with~all+signs/and=", "lk_of_my_own_making"])("%s may be one", (text) => {
    expect(digestOfPresented(new SecretText(text))).toBe(digest(text));
  });

  test.each([
    ["an empty text", ""],
    ["a short one", "0123456789abcde"],
    ["a long one", "a".repeat(513)],
    ["a digest, which a manifest may show to everybody,", `sha256:${digest("x")}`],
    ["one with a space", "0123456789 abcdef"],
    ["one with a line break", "0123456789abcdef\n"],
    ["one with other letters", "0123456789abcdéf"],
  ])("%s is garbage", (_rule, text) => {
    expect(digestOfPresented(new SecretText(text))).toBeUndefined();
  });
});

describe("a generated key", () => {
  test("has 256 random bits, a mark for scanners and a checksum", () => {
    expect(generated()).toMatch(/^lk_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
    expect(new Set(Array.from({ length: 100 }, generated)).size).toBe(100);
  });

  test("may be a key, and is garbage when any one character is another", () => {
    const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const key = generated();
    expect(digestOfPresented(new SecretText(key))).toBe(digest(key));
    fc.assert(
      fc.property(fc.nat({ max: key.length - 1 }), fc.nat({ max: alphabet.length - 1 }).map((place) => alphabet.charAt(place)), (index, letter) => {
        fc.pre(key[index] !== letter && index > 2 && key[index] !== "_");
        expect(digestOfPresented(new SecretText(key.slice(0, index) + letter + key.slice(index + 1)))).toBeUndefined();
      }),
    );
  });
});

test("digests are the same only when all of them is", () => {
  expect([isSameDigest("ab", "ab"), isSameDigest("ab", "ac"), isSameDigest("ab", "abc"), isSameDigest("", "")]).toEqual([true, false, false, true]);
});
