import { describe, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import {
  accessKeyCacheEntry,
  digestBoundTo,
  digestOf,
  storedDigest,
} from "../../src/tokens/access-key.ts";

const metadata = {
  name: "k",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
};
// FIPS 180-2, appendix B.1: SHA-256 of "abc".
const ofAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

describe("the digest of a key", () => {
  test("is SHA-256 in hex", () => {
    expect(digestOf(new SecretText("abc"))).toBe(ofAbc);
  });

  test.each([
    ["a plain key", "abc", ofAbc],
    ["its bound digest", `sha256:${ofAbc.slice(0, 16)}.${ofAbc}`, `${ofAbc.slice(0, 16)}.${ofAbc}`],
    ["an empty key", "", undefined],
    ["no key", undefined, undefined],
  ])("replaces the key in the cache entry of %s", (_rule, key, digest) => {
    const slim = accessKeyCacheEntry({ metadata, spec: { key } });
    expect(slim.keyDigest).toBe(digest);
    expect(slim).not.toHaveProperty("key");
  });

  test.each([
    ["the digest of a plain key", `sha256:${ofAbc}`],
    ["a bound digest without an index", `sha256:.${ofAbc}`],
    ["a bound digest in upper case", `sha256:${ofAbc.slice(0, 16)}.${ofAbc.toUpperCase()}`],
    ["a bound digest and a line break", `sha256:${ofAbc.slice(0, 16)}.${ofAbc}\n`],
    ["a prefix alone", "sha256:"],
  ])("is absent for %s, which no key can have", (_rule, key) => {
    expect(storedDigest(new SecretText(key))).toBeUndefined();
    expect(accessKeyCacheEntry({ metadata, spec: { key } })).toMatchObject({
      keyDigest: undefined,
      isUnbound: true,
    });
  });

  test("is SHA-256 of the key, a newline and the subject if it is bound", () => {
    // printf 'abc\nuser:alice' | sha256sum
    expect(digestBoundTo(new SecretText("abc"), "user:alice")).toBe(
      "bc14793895fbcbc22b5064c953c94dce6ecf6ca2f90b56de9fe2f32320e02f24",
    );
  });

  test("differs from the presented text if that is a digest", () => {
    expect(digestOf(new SecretText(`sha256:${ofAbc}`))).not.toBe(ofAbc);
  });
});
