import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseOwnedAccessKeySpec } from "../../src/api/owned-access-key.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import {
  accessKeyCacheEntry,
  digestBoundTo,
  digestOf,
  storedDigest,
  generateKey,
  isSameDigest,
  plainKey,
  presentedKey,
  boundDigest,
  newBoundKey,
} from "../../src/tokens/access-key.ts";
import { runs } from "../support/property-runs.ts";
import { nearDigests, plainKeysLikeDigests } from "../support/near-digests.ts";
import { observedMetadata } from "../support/observed-objects.ts";

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
    ...nearDigests.map((key): [string, string] => ["a text that looks like a digest", key]),
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

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");
const generated = (): string => SecretText.reveal(generateKey());

describe("presentedKey", () => {
  test.each([
    "0123456789abcdef",
    "a".repeat(512),
    "user-chosen.key_with~all+signs/and=",
    "lk_of_my_own_making",
    ...plainKeysLikeDigests,
  ])("accepts %s", (text) => {
    expect(presentedKey(new SecretText(text))?.index).toBe(digest(text).slice(0, 16));
  });

  test.each([
    ["an empty string", ""],
    ["a text that is too short", "0123456789abcde"],
    ["a text that is too long", "a".repeat(513)],
    ["a digest, which a manifest may contain", `sha256:${digest("x")}`],
    ...nearDigests.map((text): [string, string] => ["a text that looks like a digest", text]),
    ["a text with a space", "0123456789 abcdef"],
    ["a text with a line break", "0123456789abcdef\n"],
    ["a text with a non-ASCII letter", "0123456789abcdéf"],
  ])("returns undefined for %s", (_rule, text) => {
    expect(presentedKey(new SecretText(text))).toBeUndefined();
  });
});

test("the schema of spec.key accepts the same plain keys as a lookup", () => {
  const crd = readFileSync(new URL("../../crds/ownedaccesskeys.yaml", import.meta.url), "utf8");
  const patterns = [...crd.matchAll(/self\.key\.matches\('([^']+)'\)/g)].map(
    ([, pattern = ""]) => new RegExp(pattern),
  );
  const [, alphabet = /never/, near = /never/] = patterns;
  const [hex = fc.constant(""), mark = hex] = ["09afAFg", "._~+/=-"].map((letters) =>
    fc.constantFrom(...letters.split("")),
  );
  const part = fc.oneof(
    fc.constantFrom("sha", "SHA", "sha256", "sHa-", "sha_", ...nearDigests),
    fc.string({ unit: hex, minLength: 14, maxLength: 18 }),
    fc.string({ unit: hex, minLength: 58, maxLength: 66 }),
    ...[hex, mark],
  );
  const text = fc.string({ unit: part, maxLength: 6 }).filter(({ length }) => length <= 512);
  fc.assert(
    fc.property(text, (key) => {
      const isAccepted = key.length >= 16 && alphabet.test(key) && !near.test(key);
      expect(presentedKey(new SecretText(key)) !== undefined).toBe(isAccepted);
    }),
    runs(2_000),
  );
});

describe("a generated key", () => {
  test("has 256 random bits, a prefix for secret scanners and a checksum", () => {
    expect(generated()).toMatch(/^lk_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
    expect(new Set(Array.from({ length: 100 }, generated)).size).toBe(100);
  });

  test("is accepted, and is malformed if one character changes", () => {
    const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const key = generated();
    expect(presentedKey(new SecretText(key))).toBeDefined();
    fc.assert(
      fc.property(
        fc.nat({ max: key.length - 1 }),
        fc.nat({ max: alphabet.length - 1 }).map((place) => alphabet.charAt(place)),
        (index, letter) => {
          fc.pre(key[index] !== letter && index > 2 && key[index] !== "_");
          expect(
            presentedKey(new SecretText(key.slice(0, index) + letter + key.slice(index + 1))),
          ).toBeUndefined();
        },
      ),
    );
  });
});

describe("a plain key", () => {
  const terms = {
    disabled: false,
    ttlAfterLastActivity: false,
    groups: [],
    scope: "none",
  } as const;
  const claim = (
    keyDigest: string | undefined,
    spec: { readonly user?: string; readonly team?: string; readonly subject?: string },
  ) => ({ metadata: observedMetadata(), spec: { ...terms, ...spec }, keyDigest });
  const bound = (key: string, subject: string): string =>
    `${digest(key).slice(0, 16)}.${digest(`${key}\n${subject}`)}`;

  test.each<[string, ReturnType<typeof claim>, boolean]>([
    ["itself", claim(digest("k"), { user: "bob" }), true],
    [
      "another key with the same index",
      claim(digest("k").slice(0, 16) + "0".repeat(48), { user: "bob" }),
      false,
    ],
    ["its digest bound to the user", claim(bound("k", "user:bob"), { user: "bob" }), true],
    ["its digest bound to the team", claim(bound("k", "team:web"), { team: "web" }), true],
    [
      "its digest bound to the subject",
      claim(bound("k", "subject:robot"), { subject: "robot" }),
      true,
    ],
    ["a digest bound to another user", claim(bound("k", "user:bob"), { user: "eve" }), false],
    [
      "a digest bound to a user, in an object for a team of the same name",
      claim(bound("k", "user:bob"), { team: "bob" }),
      false,
    ],
    ["a digest bound to an empty subject", claim(bound("k", ""), {}), false],
    [
      "another key's digest, with the same bound part",
      claim(`${"0".repeat(16)}.${bound("k", "user:bob").slice(17)}`, { user: "bob" }),
      false,
    ],
    ["an object without a key", claim(undefined, { user: "bob" }), false],
  ])("is compared with %s", (_rule, other, matches) => {
    expect(plainKey(new SecretText("k")).matches(other)).toBe(matches);
  });
});

test("isSameDigest compares the whole digests", () => {
  expect([
    isSameDigest("ab", "ab"),
    isSameDigest("ab", "ac"),
    isSameDigest("ab", "abc"),
    isSameDigest("", ""),
  ]).toEqual([true, false, false, true]);
});

test("a bound digest begins with the index of the key", () => {
  // printf abc | sha256sum; printf 'abc\nuser:alice' | sha256sum
  expect(boundDigest(new SecretText("abc"), "user:alice")).toBe(
    "sha256:ba7816bf8f01cfea.bc14793895fbcbc22b5064c953c94dce6ecf6ca2f90b56de9fe2f32320e02f24",
  );
});

test("a key that its user makes is found by its bound digest, for its subject alone", () => {
  const { digest, plain } = newBoundKey("user:alice");
  expect(digest).toMatch(/^sha256:[0-9a-f]{16}\.[0-9a-f]{64}$/);
  const presented = presentedKey(new SecretText(plain));
  const matches = (spec: Record<string, unknown>) =>
    presented?.matches({
      metadata: observedMetadata({}),
      keyDigest: digest.slice("sha256:".length),
      spec: parseOwnedAccessKeySpec(spec),
    });
  expect([
    matches({ user: "alice" }),
    matches({ user: "bob" }),
    matches({ team: "alice" }),
  ]).toEqual([true, false, false]);
});
