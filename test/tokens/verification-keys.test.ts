import { describe, expect, test } from "vitest";
import { es256KeyOf, newEs256Jwk } from "../../src/tokens/es256-key.ts";
import { publicJwks } from "../../src/tokens/signing-keys.ts";
import { parseVerificationKeys } from "../../src/tokens/verification-keys.ts";
import { es384Key, newKeys, publishedKeys, rs256Key } from "./signed-text.ts";

const signing = newKeys("next", "signing", "retired");
const [first, second, third] = publicJwks(signing).keys;
const bytesOf = (document: unknown) => Buffer.from(JSON.stringify(document));
const parse = (...keys: readonly unknown[]) => parseVerificationKeys(bytesOf({ keys }));
const short = (x = "") => Buffer.from(x, "base64url").subarray(1).toString("base64url");
const rsa = { ...rs256Key().export({ format: "jwk" }) };
const p384 = { ...es384Key().export({ format: "jwk" }) };

describe("published keys", () => {
  test("are read with their kids", () => {
    expect([...publishedKeys(signing).keys()]).toEqual(signing.keys.map(({ kid }) => kid));
  });

  test("are published again as they were", () => {
    const keys = [...publishedKeys(signing).values()];
    expect(publicJwks({ keys })).toEqual(publicJwks(signing));
  });

  test("may be 32", () => {
    expect(publishedKeys(newKeys("signing", ...Array(31).fill("retired"))).size).toBe(32);
  });

  test("may name their operation", () => {
    const result = parse({ ...first, key_ops: ["verify"], x5t: "AA" });
    expect(result.ok && [...result.keys.keys()]).toEqual([first?.kid]);
  });

  test.each<[string, object]>([
    ["RSA", { kty: "RSA", n: rsa.n, e: rsa.e, kid: "rsa", use: "sig", alg: "RS256" }],
    ["P-384", { kty: "EC", crv: "P-384", x: p384.x, y: p384.y, kid: "k", use: "sig" }],
    ["a type that does not exist yet", { kty: "NEW", kid: "new" }],
    ["encryption", { ...second, use: "enc" }],
    ["another algorithm", { ...second, alg: "ES384" }],
    ["no algorithm", { ...second, alg: undefined }],
    ["other operations", { ...second, key_ops: ["sign"] }],
    ["operations that are no list", { ...second, key_ops: "verify" }],
    ["no use", { ...second, use: undefined }],
  ])("for %s are skipped", (_rule, entry) => {
    const result = parse(first, entry);
    expect(result.ok && [...result.keys.keys()]).toEqual([first?.kid]);
  });
});

describe("a key set is refused", () => {
  test.each<[string, Uint8Array, string]>([
    ["above 64 KiB", Buffer.alloc(64 * 1024 + 1, " "), "oversized"],
    ["of spaces", Buffer.alloc(64 * 1024, " "), "malformed"],
    ["of no bytes", Buffer.alloc(0), "malformed"],
    ["that is not UTF-8", Buffer.from([0xff]), "malformed"],
    ["that is a list", bytesOf([first]), "malformed"],
    ["whose keys are an object", bytesOf({ keys: { first } }), "malformed"],
    ["without keys", bytesOf({}), "malformed"],
    ["with a member __proto__ alone", Buffer.from('{"__proto__":{"keys":[]}}'), "malformed"],
    ["with keys that are texts", bytesOf({ keys: ["key"] }), "malformed"],
    ["with a key that is null", bytesOf({ keys: [first, null] }), "malformed"],
  ])("%s", (_rule, bytes, reason) => {
    expect(parseVerificationKeys(bytes)).toEqual({ ok: false, reason });
  });

  test.each<[string, readonly unknown[], string]>([
    ["with no keys", [], "no-keys"],
    ["with 33 keys", Array(33).fill(first), "too-many-keys"],
    ["with no key for ES256", [{ ...first, use: "enc" }], "no-keys"],
    ["with a private key", [first, { ...second, d: "AA" }], "private-key"],
    ["with an empty private member", [{ ...first, d: null }], "private-key"],
    ["with a private RSA key", [first, { ...rsa, kid: "rsa" }], "private-key"],
    ["with a secret key", [first, { kty: "oct", k: "AA" }], "private-key"],
    ["with a private key of another type", [first, { kty: "AKP", priv: "AA" }], "private-key"],
    ["with a key without kid", [{ ...first, kid: undefined }], "malformed-key"],
    ["with a kid that is a number", [{ ...first, kid: 1 }], "malformed-key"],
    ["with a kid that is not the thumbprint", [{ ...first, kid: "k" }], "malformed-key"],
    ["with the kid of another key", [{ ...first, kid: second?.kid }], "malformed-key"],
    ["with one key twice", [first, second, first], "duplicate-key"],
    ["with a point that is not on the curve", [{ ...first, y: second?.y }], "malformed-key"],
    [
      "with the point at zero",
      [{ ...first, x: "A".repeat(43), y: "A".repeat(43) }],
      "malformed-key",
    ],
    ["with a short coordinate", [{ ...first, x: short(first?.x) }], "malformed-key"],
    ["with padding", [{ ...first, x: `${first?.x}=` }], "malformed-key"],
    ["without y", [{ ...third, y: undefined }], "malformed-key"],
    ["with coordinates that are numbers", [{ ...third, x: 1, y: 2 }], "malformed-key"],
  ])("%s", (_rule, keys, reason) => {
    expect(parse(...keys)).toEqual({ ok: false, reason });
  });
});

test("the public part of a new key has the kid of its private part", () => {
  const { kid, privateJwk } = newEs256Jwk();
  const published = { ...es256KeyOf(privateJwk)?.publicJwk, kid, use: "sig", alg: "ES256" };
  const result = parse(published);
  expect(result.ok && result.keys.has(kid)).toBe(true);
});
