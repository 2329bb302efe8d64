import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { oidcAlgorithms, parseOidcKeys } from "../../src/tokens/oidc-keys.ts";

const jwkOf = (key: ReturnType<typeof ec>["publicKey"], more: object) => ({
  ...key.export({ format: "jwk" }),
  ...more,
});
const ec = (namedCurve = "P-256") => generateKeyPairSync("ec", { namedCurve });
const rsa = (modulusLength = 2048) => generateKeyPairSync("rsa", { modulusLength });
const parse = (...keys: readonly object[]) => parseOidcKeys(Buffer.from(JSON.stringify({ keys })));
const algorithmsOf = (entry: object) => {
  const found = parse(entry);
  return found.kind === "keys" ? found.keys.get("k")?.algorithms : found.problem;
};
const small = rsa().publicKey;
const one = ec().publicKey;

describe("a key of an issuer", () => {
  test.each<[what: string, entry: object, found: unknown]>([
    ["RSA", jwkOf(small, { kid: "k" }), oidcAlgorithms.filter((name) => !name.startsWith("ES"))],
    ["RSA for one algorithm", jwkOf(small, { kid: "k", alg: "PS384", use: "sig" }), ["PS384"]],
    ["P-256", jwkOf(one, { kid: "k", key_ops: ["verify"] }), ["ES256"]],
    ["P-384", jwkOf(ec("P-384").publicKey, { kid: "k" }), ["ES384"]],
    ["P-521", jwkOf(ec("P-521").publicKey, { kid: "k" }), ["ES512"]],
  ])("%s verifies %j", (_, entry, found) => {
    expect(algorithmsOf(entry)).toEqual(found);
  });

  test.each<[what: string, entry: object, problem: string]>([
    [
      "that is private",
      { ...ec().privateKey.export({ format: "jwk" }), kid: "k" },
      'the key "k" has its private part',
    ],
    ["of too few bits", jwkOf(rsa(1024).publicKey, { kid: "k" }), 'the key "k" has 1024 bits'],
    ["without kid", jwkOf(one, {}), "the key (another kid) has no kid"],
    ["with a kid of 300 characters", jwkOf(one, { kid: "k".repeat(300) }), "has no kid"],
    ["off its curve", { ...jwkOf(one, { kid: "k" }), x: "AAAA" }, 'the key "k" is malformed'],
    [
      "for an algorithm of another type",
      jwkOf(one, { kid: "k", alg: "RS256" }),
      "has an alg that is not supported",
    ],
    [
      "for no algorithm",
      jwkOf(small, { kid: "k", alg: "none" }),
      "has an alg that is not supported",
    ],
    ["for encryption", jwkOf(small, { kid: "k", use: "enc" }), "it has no key that counts"],
    ["to sign with", jwkOf(one, { kid: "k", key_ops: ["sign"] }), "it has no key that counts"],
    [
      "that is shared",
      { kty: "oct", k: "AAAA", kid: "k", alg: "HS256" },
      "it has no key that counts",
    ],
    [
      "of another curve",
      { kty: "EC", crv: "secp256k1", x: "AA", y: "AA", kid: "k" },
      "it has no key that counts",
    ],
  ])("%s does not count", (_, entry, problem) => {
    expect(parse(entry)).toEqual({ kind: "refused", problem: expect.stringContaining(problem) });
  });

  test("does not count when another one has its kid, and the others do", () => {
    const found = parse(
      jwkOf(ec().publicKey, { kid: "twice" }),
      jwkOf(rsa().publicKey, { kid: "twice" }),
      jwkOf(one, { kid: "k" }),
      { ...ec().privateKey.export({ format: "jwk" }), kid: "p" },
    );
    expect(found).toMatchObject({
      kind: "keys",
      left: ['the key "twice" stands twice', 'the key "p" has its private part'],
    });
    expect(found.kind === "keys" && [...found.keys.keys()]).toEqual(["k"]);
  });
});

test.each<[what: string, text: string, problem: string]>([
  ["HTML", "<html></html>", "it is no JWK Set"],
  ["no list", '{"keys":{}}', "it is no JWK Set"],
  ["texts", '{"keys":["x"]}', "it is no JWK Set"],
  ["no key", '{"keys":[]}', "it has no key that counts"],
  [
    "65 keys",
    JSON.stringify({ keys: Array.from({ length: 65 }, () => ({})) }),
    "more than 64 keys",
  ],
  ["a large document", `{"keys":[${" ".repeat(256 * 1024)}]}`, "more than 262144 bytes"],
])("a key set of %s is refused", (_, text, problem) => {
  expect(parseOidcKeys(Buffer.from(text))).toEqual({
    kind: "refused",
    problem: expect.stringContaining(problem),
  });
});
