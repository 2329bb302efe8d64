import fc from "fast-check";
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import { describe, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { type TokenClaims, tokenLength } from "../../src/domain/endpoint-token/token-claims.ts";
import { mintToken } from "../../src/tokens/direct-token.ts";
import { newEs256Jwk } from "../../src/tokens/es256-key.ts";
import { parseSigningKeys, publicJwks } from "../../src/tokens/signing-keys.ts";
import { rawSigningKeys } from "../support/fake-informers.ts";

const createdAt = "2026-01-01T00:00:00Z";
const entries = ["next", "signing"].map((state) => ({ ...newEs256Jwk(), state, createdAt }));
const encoded = Buffer.from(JSON.stringify({ keys: entries })).toString("base64");
const keys = parseSigningKeys(rawSigningKeys({ data: { "keys.json": encoded } }));
const claims: TokenClaims = {
  iss: "https://issuer",
  sub: "alice",
  aud: "aud",
  iat: 1000,
  nbf: 1000,
  exp: 4600,
  jti: "uid",
  groups: ["devs"],
  "management.service": { name: "one", scope: "{}" },
};

describe("a minted token", async () => {
  const { token, kid } = await mintToken(claims, keys);
  const text = SecretText.reveal(token);
  const verify = (second: number) =>
    jwtVerify(text, createLocalJWKSet({ keys: publicJwks(keys).keys.map((jwk) => ({ ...jwk })) }), {
      algorithms: ["ES256"],
      issuer: "https://issuer",
      audience: "aud",
      typ: "JWT",
      requiredClaims: ["exp", "nbf", "iat", "sub", "jti"],
      currentDate: new Date(second * 1000),
    });

  test("verifies against the published keys with exactly its claims", async () => {
    expect((await verify(4599)).payload).toEqual(claims);
  });

  test("has a header with ES256, JWT and the kid of the signing key", () => {
    expect(decodeProtectedHeader(text)).toEqual({ alg: "ES256", typ: "JWT", kid });
    expect(kid).toBe(keys.signing.kid);
  });

  test("has the length that its claims say before it is signed", async () => {
    const text = fc.string({ unit: "binary" });
    const made = fc.record({ sub: text, groups: fc.array(text), scope: text });
    const isExact = async ({ scope, ...others }: { scope: string }): Promise<void> => {
      const some = { ...claims, ...others, "management.service": { name: "one", scope } };
      const minted = await mintToken(some, keys);
      expect(minted.token.length).toBe(tokenLength(some, minted.kid));
    };
    await fc.assert(fc.asyncProperty(made, isExact));
  });

  test("is rejected at its expiry time", async () => {
    await expect(verify(4600)).rejects.toThrow(`"exp" claim timestamp check failed`);
  });
});
