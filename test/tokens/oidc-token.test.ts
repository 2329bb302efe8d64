import { createHmac, generateKeyPairSync, type KeyObject } from "node:crypto";
import { CompactSign } from "jose";
import { describe, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { oidcAlgorithms, type OidcKey, parseOidcKeys } from "../../src/tokens/oidc-keys.ts";
import { isSignedBy, isTokenForm, readOidcToken } from "../../src/tokens/oidc-token.ts";

const base64url = (value: string | object) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
const header = { alg: "ES256", typ: "JWT", kid: "k" };
const claims = { iss: "https://oidc.example", aud: "ci/deploy", sub: "me", exp: 2, iat: 1 };
const tokenOf = (head: string | object, payload: string | object) =>
  new SecretText(`${base64url(head)}.${base64url(payload)}.AAAA`);
const reasonOf = (token: SecretText) => {
  const read = readOidcToken(token);
  return read.kind === "refused" ? read.reason : read.kind;
};
const withText = (member: string) => JSON.stringify(claims).replace(/^\{/, `{${member},`);

describe("the form of a token", () => {
  test("is read, and says what is not verified yet", () => {
    expect(readOidcToken(tokenOf(header, claims))).toEqual({
      kind: "unverified",
      kid: "k",
      algorithm: "ES256",
      issuer: "https://oidc.example",
      claims,
    });
  });

  test.each<[what: string, token: SecretText, reason: string]>([
    ["without typ", tokenOf({ alg: "RS256", kid: "k" }, claims), "unverified"],
    ["of SPIFFE", tokenOf({ ...header, typ: "JOSE" }, claims), "unverified"],
    [
      "with keys in its head, which are not looked at",
      tokenOf({ ...header, jku: "https://evil.example", jwk: {} }, claims),
      "unverified",
    ],
    [
      "with claims in other characters",
      tokenOf(header, { ...claims, sub: "é\u{1F511}" }),
      "unverified",
    ],
    ["with white space", tokenOf(header, JSON.stringify(claims, undefined, 2)), "unverified"],
    ["of none", tokenOf({ ...header, alg: "none" }, claims), "algorithm"],
    ["of a shared key", tokenOf({ ...header, alg: "HS256" }, claims), "algorithm"],
    ["of another spelling", tokenOf({ ...header, alg: "es256" }, claims), "algorithm"],
    ["of a list of algorithms", tokenOf({ ...header, alg: ["ES256"] }, claims), "algorithm"],
    ["without algorithm", tokenOf({ kid: "k" }, claims), "algorithm"],
    ["for a logout", tokenOf({ ...header, typ: "logout+jwt" }, claims), "type"],
    ["that proves a key", tokenOf({ ...header, typ: "dpop+jwt" }, claims), "type"],
    ["without kid", tokenOf({ alg: "ES256" }, claims), "header"],
    ["with a number as kid", tokenOf({ ...header, kid: 1 }, claims), "header"],
    ["with an extension", tokenOf({ ...header, crit: ["exp"] }, claims), "header"],
    ["with an unencoded payload", tokenOf({ ...header, b64: false }, claims), "header"],
    ["without issuer", tokenOf(header, { ...claims, iss: undefined }), "header"],
    ["with a list of issuers", tokenOf(header, { ...claims, iss: [claims.iss] }), "header"],
    ["with a claim twice", tokenOf(header, withText('"sub":"you"')), "malformed"],
    [
      "with a claim twice, escaped",
      tokenOf(header, withText(String.raw`"s\u0075b":"you"`)),
      "malformed",
    ],
    [
      "with an algorithm twice",
      tokenOf('{"alg":"ES256","kid":"k","alg":"none"}', claims),
      "malformed",
    ],
    ["with a member twice within", tokenOf(header, withText('"a":[{"b":1 ,"b" :2}]')), "malformed"],
    ["with text behind", tokenOf(header, `${JSON.stringify(claims)} x`), "malformed"],
    ["with a list", tokenOf(header, "[]"), "malformed"],
    ["with null", tokenOf(header, "null"), "malformed"],
    ["with a mark of byte order", tokenOf(header, `\uFEFF${JSON.stringify(claims)}`), "malformed"],
    [
      "with 17 levels",
      tokenOf(header, withText(`"a":${"[".repeat(17)}${"]".repeat(17)}`)),
      "malformed",
    ],
    [
      "with 16 levels",
      tokenOf(header, withText(`"a":${"[".repeat(15)}${"]".repeat(15)}`)),
      "unverified",
    ],
    ["of a thousand values", tokenOf(header, withText(`"a":[${"1,".repeat(1000)}1]`)), "malformed"],
    ["of two parts", new SecretText("a.b"), "malformed"],
    ["of four parts", new SecretText("a.b.c.d"), "malformed"],
    [
      "without signature",
      new SecretText(`${base64url(header)}.${base64url(claims)}.`),
      "malformed",
    ],
    [
      "with padding",
      new SecretText(`${base64url(header)}=.${base64url(claims)}.AAAA`),
      "malformed",
    ],
    ["with bits that no byte needs", new SecretText("eyJ9.e31.AAAA"), "malformed"],
    [
      "of invalid UTF-8",
      new SecretText(
        `${base64url(header)}.${Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]).toString("base64url")}.AAAA`,
      ),
      "malformed",
    ],
    ["of more than 16 KiB", tokenOf(header, { ...claims, a: "x".repeat(16_000) }), "oversized"],
    ["with a large head", tokenOf({ ...header, x: "x".repeat(2000) }, claims), "oversized"],
  ])("%s", (_, token, reason) => {
    expect(reasonOf(token)).toBe(reason);
  });

  test("is none of access keys", () => {
    const isForm = (text: string) => isTokenForm(new SecretText(text));
    expect([isForm("aa.bb.cc"), isForm("lk_abc"), isForm("a.b"), isForm("a.b.c.d")]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});

describe("the signature of a token", () => {
  const pairs = {
    RS: generateKeyPairSync("rsa", { modulusLength: 2048 }),
    ES256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
    ES384: generateKeyPairSync("ec", { namedCurve: "P-384" }),
    ES512: generateKeyPairSync("ec", { namedCurve: "P-521" }),
  };
  const pairFor = (alg: string) =>
    alg === "ES256" || alg === "ES384" || alg === "ES512" ? pairs[alg] : pairs.RS;
  const keyOf = (publicKey: KeyObject, more: object = {}): OidcKey => {
    const set = { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k", ...more }] };
    const found = parseOidcKeys(Buffer.from(JSON.stringify(set)));
    const key = found.kind === "keys" ? found.keys.get("k") : undefined;
    if (key === undefined) throw new Error("the key does not count");
    return key;
  };
  const sign = async (alg: string, privateKey: KeyObject) =>
    new SecretText(
      await new CompactSign(Buffer.from(JSON.stringify(claims)))
        .setProtectedHeader({ alg, kid: "k" })
        .sign(privateKey),
    );
  const isSigned = (token: SecretText, key: OidcKey) => {
    const read = readOidcToken(token);
    return read.kind === "refused" ? Promise.resolve(read.reason) : isSignedBy(token, read, key);
  };

  test.each(oidcAlgorithms)("counts with %s", async (alg) => {
    const { publicKey, privateKey } = pairFor(alg);
    const token = await sign(alg, privateKey);
    expect(await isSigned(token, keyOf(publicKey))).toBe(true);
    const changed = SecretText.reveal(token).replace(
      /\.[^.]+\./,
      `.${base64url({ ...claims, sub: "you" })}.`,
    );
    expect(await isSigned(new SecretText(changed), keyOf(publicKey))).toBe(false);
    const another = alg.startsWith("ES")
      ? generateKeyPairSync("ec", {
          namedCurve: String(publicKey.asymmetricKeyDetails?.namedCurve),
        })
      : generateKeyPairSync("rsa", { modulusLength: 2048 });
    expect(await isSigned(token, keyOf(another.publicKey))).toBe(false);
  });

  test("of another algorithm than that of the key does not count", async () => {
    const token = await sign("PS256", pairs.RS.privateKey);
    expect(await isSigned(token, keyOf(pairs.RS.publicKey, { alg: "RS256" }))).toBe(false);
    const es384 = await sign("ES384", pairs.ES384.privateKey);
    expect(await isSigned(es384, keyOf(pairs.RS.publicKey))).toBe(false);
  });

  test("with the public key as a shared one does not count", async () => {
    const pem = pairs.RS.publicKey.export({ format: "pem", type: "spki" });
    const text = `${base64url({ alg: "HS256", kid: "k" })}.${base64url(claims)}`;
    const signature = createHmac("sha256", pem).update(text).digest("base64url");
    expect(await isSigned(new SecretText(`${text}.${signature}`), keyOf(pairs.RS.publicKey))).toBe(
      "algorithm",
    );
  });

  test("of zeros does not count", async () => {
    const text = `${base64url({ alg: "ES256", kid: "k" })}.${base64url(claims)}`;
    const zeros = Buffer.alloc(64).toString("base64url");
    expect(await isSigned(new SecretText(`${text}.${zeros}`), keyOf(pairs.ES256.publicKey))).toBe(
      false,
    );
  });
});
