import { createPublicKey } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import type { TokenClaims } from "../../src/domain/endpoint-token/token-claims.ts";
import { publicJwks } from "../../src/tokens/signing-keys.ts";
import { mintToken, tokenProblems, verifyDirectToken } from "../../src/tokens/direct-token.ts";
import { runs } from "../support/property-runs.ts";
import {
  derSigner,
  encoded,
  es384Key,
  hmacSigner,
  type Json,
  newKeys,
  publishedKeys,
  rs256Key,
  type Signer,
  signedParts,
  signedText,
  signerWith,
  strangeKey,
  textOf,
} from "./signed-text.ts";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".split("");
const second = 1_767_225_600;
const signingKeys = newKeys("next", "signing");
const { signing } = signingKeys;
const [jwk] = publicJwks({ keys: [signing] }).keys;
const common = "management.service/direct";
const terms = {
  keys: publishedKeys(signingKeys),
  issuer: "https://issuer",
  audiences: [`${common}/east`, common],
  now: second * 1000,
};
const claims: TokenClaims = {
  iss: terms.issuer,
  sub: "alice",
  aud: common,
  iat: second - 60,
  nbf: second - 60,
  exp: second + 3600,
  jti: "uid-of-token",
  groups: ["devs", "ops"],
  "management.service": { scope: `{"clusters":[{"cluster":"one"}]}`, keyID: "key", name: "mine" },
};
const service = claims["management.service"];
const header = { alg: "ES256", typ: "JWT", kid: signing.kid };
const es256 = signerWith(signing.privateKey);

const verify = (text: string, now = terms.now) =>
  verifyDirectToken(new SecretText(text), { ...terms, now });
const signed = (payload: Json, signer: Signer = es256) => signedText(header, payload, signer);
const withClaims = (changes: object) => signed({ ...claims, ...changes });
const withHeader = (changes: object, signer: Signer = es256) =>
  signedText({ ...header, ...changes }, claims, signer);
const withService = (changes: object) =>
  withClaims({ "management.service": { ...service, ...changes } });
const withScope = (scope: unknown) => withService({ scope: JSON.stringify(scope) });
/** The claims with this JSON text as the value of one of them. */
const withText = (name: string, text: string) =>
  signed(textOf({ ...claims, [name]: "here" }).replace('"here"', text));
const parts = (text: string): readonly [string, string, string] => {
  const [one = "", two = "", three = ""] = text.split(".");
  return [one, two, three];
};
const good = signed(claims);
const [goodHeader, goodPayload, goodSignature] = parts(good);
const signatureOf = (bytes: Buffer) =>
  `${goodHeader}.${goodPayload}.${bytes.toString("base64url")}`;
const flipped = (at: number) => {
  const bytes = Buffer.from(goodSignature, "base64url");
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return signatureOf(bytes);
};

describe("a minted token", async () => {
  const minted = async (changes: Partial<TokenClaims> = {}) => {
    const { token } = await mintToken({ ...claims, ...changes }, signingKeys);
    return verifyDirectToken(token, terms);
  };
  const result = await minted();

  test("is verified, and each claim arrives", () => {
    expect(result).toEqual({
      ok: true,
      kid: signing.kid,
      token: {
        jti: "uid-of-token",
        sub: "alice",
        groups: ["devs", "ops"],
        scopes: [expect.objectContaining({ clusters: ["one"], projects: [] })],
        keyId: "key",
        name: "mine",
        expiresAt: (second + 3600) * 1000,
      },
    });
  });

  test.each<[string, Partial<TokenClaims>, object]>([
    ["no groups", { groups: [] }, { groups: [] }],
    ["names of any script", { sub: "ålice 李", groups: ["a\nb"] }, { sub: "ålice 李" }],
    ["no scope", { "management.service": { name: "n" } }, { scopes: [], keyId: undefined }],
    [
      "two scopes",
      { "management.service": { name: "n", scope: '[{"clusters":[{"cluster":"a"}]},{}]' } },
      { scopes: [{ clusters: ["a"] }, { clusters: [] }] },
    ],
    ["a group that only contains system:", { groups: ["a:system:"] }, { groups: ["a:system:"] }],
  ])("may have %s", async (_rule, changes, token) => {
    expect(await minted(changes)).toMatchObject({ ok: true, token });
  });
});

describe("a token is accepted", () => {
  test.each<[string, string, number]>([
    ["that is signed like a minted one", good, second],
    ["for this cluster alone", withClaims({ aud: `${common}/east` }), second],
    ["without groups", withClaims({ groups: undefined }), second],
    ["in its last millisecond", good, second + 3599.999],
    ["from a clock that is 5 minutes ahead", good, second - 360],
    ["with a claim that nothing reads", withClaims({ extra: { a: [1] } }), second],
    ["that is as long as a token may be", sized(8192), second],
  ])("%s", async (_rule, text, at) => {
    expect(await verify(text, at * 1000)).toMatchObject({ ok: true });
  });
});

describe("a token is refused with its text", () => {
  const rsa = signerWith(rs256Key());
  const publicPem = createPublicKey(signing.privateKey).export({ type: "spki", format: "pem" });
  const [zeros, padded] = [
    Buffer.alloc(64),
    Buffer.from(textOf({ ...claims, sub: "~~~???>>>ab" })),
  ];

  test.each<[string, string, string]>([
    ["empty", "", "malformed"],
    ["of dots", "..", "malformed"],
    ["that is an access key", "lk_0123456789", "malformed"],
    ["of 8193 characters", sized(8193), "oversized"],
    ["of 8193 dots", ".".repeat(8193), "oversized"],
    ["without signature", `${goodHeader}.${goodPayload}.`, "malformed"],
    ["without its last part", `${goodHeader}.${goodPayload}`, "malformed"],
    ["of four parts", `${good}.${goodSignature}`, "malformed"],
    ["of five parts, as encrypted tokens", `${good}.a.b`, "malformed"],
    ["after a space", ` ${good}`, "malformed"],
    ["before a line break", `${good}\n`, "malformed"],
    ["in JSON serialization", JSON.stringify({ payload: goodPayload }), "malformed"],
    ["truncated by one character", good.slice(0, -1), "signature"],
    ["truncated in the middle of the signature", good.slice(0, -43), "signature"],
    ["with padding after the signature", `${good}==`, "malformed"],
    ["with bits in the signature that no byte needs", lastChanged(good), "signature"],
    ["with the first bit of r flipped", flipped(0), "signature"],
    ["with the last bit of s flipped", flipped(63), "signature"],
    ["with r = s = 0 (CVE-2022-21449)", signatureOf(zeros), "signature"],
    ["with the signature in DER", signed(claims, derSigner(signing.privateKey)), "signature"],
    [
      "with the signature of another key",
      signed(claims, signerWith(strangeKey().privateKey)),
      "signature",
    ],
    [
      "with the signature of another token",
      `${parts(withClaims({ sub: "bob" }))
        .slice(0, 2)
        .join(".")}.${goodSignature}`,
      "signature",
    ],
    [
      "with a header in padded base64",
      signedParts(`${goodHeader}==`, goodPayload, es256),
      "malformed",
    ],
    [
      "with claims in padded base64",
      signedParts(goodHeader, padded.toString("base64"), es256),
      "malformed",
    ],
    [
      "with claims in base64 with + and /",
      signedParts(goodHeader, standard(padded), es256),
      "malformed",
    ],
    ["with a header that is not JSON", signedText("{", claims, es256), "malformed"],
    ["with a header that is a list", signedText([header], claims, es256), "malformed"],
    ["with a header that is null", signedText("null", claims, es256), "malformed"],
    ["with claims that are not JSON", signed("{"), "malformed"],
    ["with claims that are a list", signed([claims]), "malformed"],
    ["with claims that are not UTF-8", signedParts(goodHeader, "_w", es256), "malformed"],
    ["with a byte order mark", signed(`\ufeff${textOf(claims)}`), "malformed"],
    ["with claims nested 2900 deep", signed("[".repeat(2900) + "]".repeat(2900)), "malformed"],
    ["with spaces between claims", signed(JSON.stringify(claims, undefined, 1)), "malformed"],
    ["with alg none and no signature", unsigned("none"), "malformed"],
    ["with alg none and a signature", withHeader({ alg: "none" }), "algorithm"],
    ["with alg NONE", withHeader({ alg: "NONE" }), "algorithm"],
    ["with alg es256", withHeader({ alg: "es256" }), "algorithm"],
    ["without alg", withHeader({ alg: undefined }), "algorithm"],
    ["with alg as a list", withHeader({ alg: ["ES256"] }), "algorithm"],
    [
      "with HS256 and the public key as secret",
      withHeader({ alg: "HS256" }, hmacSigner(publicPem)),
      "algorithm",
    ],
    [
      "with HS256 and the public JWK as secret",
      withHeader({ alg: "HS256" }, hmacSigner(textOf(jwk ?? ""))),
      "algorithm",
    ],
    ["with the header ES256 and an HMAC", signed(claims, hmacSigner(publicPem)), "signature"],
    ["with RS256 in the header alone", withHeader({ alg: "RS256" }), "algorithm"],
    ["with RS256", withHeader({ alg: "RS256" }, rsa), "algorithm"],
    ["with the header ES256 and an RSA signature", signed(claims, rsa), "signature"],
    ["with ES384 in the header alone", withHeader({ alg: "ES384" }), "algorithm"],
    ["with ES384", withHeader({ alg: "ES384" }, signerWith(es384Key(), "sha384")), "algorithm"],
    ["with ES256K in the header alone", withHeader({ alg: "ES256K" }), "algorithm"],
  ])("%s", async (_rule, text, reason) => {
    expect(await verify(text)).toEqual({ ok: false, reason });
  });
});

describe("a token is refused for its header", () => {
  const strange = strangeKey();
  const own = signerWith(strange.privateKey);
  const embedded = { ...strange.publicJwk, kid: strange.kid };

  test.each<[string, string, string]>([
    ["without typ", withHeader({ typ: undefined }), "type"],
    ["with typ at+jwt", withHeader({ typ: "at+jwt" }), "type"],
    ["with typ jwt", withHeader({ typ: "jwt" }), "type"],
    ["with typ as a list", withHeader({ typ: ["JWT"] }), "type"],
    ["with the typ of the deny list", withHeader({ typ: "latchkey-revoked+jwt" }), "type"],
    ["without kid", withHeader({ kid: undefined }), "header"],
    ["with a kid that is a number", withHeader({ kid: 1 }), "header"],
    ["with a kid that is null", withHeader({ kid: null }), "header"],
    ["with a kid that is a list", withHeader({ kid: [signing.kid] }), "header"],
    ["with an empty kid", withHeader({ kid: "" }), "unknown-kid"],
    ["with the kid __proto__", withHeader({ kid: "__proto__" }), "unknown-kid"],
    ["with the kid constructor", withHeader({ kid: "constructor" }), "unknown-kid"],
    ["with the kid toString", withHeader({ kid: "toString" }), "unknown-kid"],
    ["with a kid that is a path", withHeader({ kid: "../../dev/null" }), "unknown-kid"],
    [
      "with the kid and signature of a strange key",
      withHeader({ kid: strange.kid }, own),
      "unknown-kid",
    ],
    ["with the kid of another published key", withHeader({ kid: kidOf("next") }), "signature"],
    ["with an embedded jwk", withHeader({ jwk: embedded }, own), "header"],
    [
      "with an embedded jwk and its kid",
      withHeader({ jwk: embedded, kid: strange.kid }, own),
      "header",
    ],
    ["with an embedded jwk and a valid signature", withHeader({ jwk: embedded }), "header"],
    ["with jku", withHeader({ jku: "https://evil/jwks" }), "header"],
    ["with x5u", withHeader({ x5u: "https://evil/x5u" }), "header"],
    ["with x5c", withHeader({ x5c: ["MIIB"] }), "header"],
    ["with x5t", withHeader({ x5t: "AA" }), "header"],
    ["with x5t#S256", withHeader({ "x5t#S256": "AA" }), "header"],
    ["with crit", withHeader({ crit: ["exp"], exp: 1 }), "header"],
    ["with an empty crit", withHeader({ crit: [] }), "header"],
    ["with b64 false", withHeader({ b64: false, crit: ["b64"] }), "header"],
    ["with zip", withHeader({ zip: "DEF" }), "header"],
    ["with cty JWT", withHeader({ cty: "JWT" }), "header"],
    ["with alg twice", signedText(twice(header, '"alg":"none"'), claims, es256), "malformed"],
    ["with kid twice", signedText(twice(header, '"kid":"x"'), claims, es256), "malformed"],
    [
      "with a member __proto__",
      signedText(twice(header, '"__proto__":{}'), claims, es256),
      "header",
    ],
  ])("%s", async (_rule, text, reason) => {
    expect(await verify(text)).toEqual({ ok: false, reason });
  });
});

describe("a token is refused for its claims", () => {
  test.each<[string, string, string]>([
    ["with a claim twice", signed(twice(claims, `"sub":"bob"`)), "malformed"],
    ["with exp twice", signed(twice(claims, `"exp":${second}`)), "malformed"],
    [
      "with its private claim twice",
      signed(twice(claims, `"management.service":{"name":"n"}`)),
      "malformed",
    ],
    [
      "with scope twice",
      withText("management.service", `{"scope":"{}","scope":"{}","name":"n"}`),
      "malformed",
    ],
    ...["iss", "sub", "exp", "iat", "nbf", "jti", "management.service"].flatMap(
      (name): [string, string, string][] => [
        [`without ${name}`, withClaims({ [name]: undefined }), "claims"],
        [`with ${name} null`, withClaims({ [name]: null }), "claims"],
        [`with ${name} as a list`, withClaims({ [name]: [claims] }), "claims"],
        [`with ${name} true`, withClaims({ [name]: true }), "claims"],
        [`with ${name} empty`, withClaims({ [name]: "" }), "claims"],
      ],
    ),
    ...["exp", "iat", "nbf"].flatMap((name): [string, string, string][] => [
      [`with ${name} as a string`, withClaims({ [name]: `${second + 60}` }), "claims"],
      [`with ${name} 1e400`, withText(name, "1e400"), "malformed"],
      [`with ${name} NaN`, withText(name, "NaN"), "malformed"],
      [`with ${name} 1e300`, withText(name, "1e+300"), "claims"],
      [`with ${name} past the last Date`, withClaims({ [name]: 8_640_000_000_001 }), "claims"],
      [`with ${name} negative`, withClaims({ [name]: -1 }), "claims"],
      [`with ${name} of half a second`, withClaims({ [name]: second + 0.5 }), "claims"],
    ]),
    ["with sub as a number", withClaims({ sub: 1 }), "claims"],
    ["of another issuer", withClaims({ iss: "https://other" }), "issuer"],
    ["of the issuer with a slash", withClaims({ iss: "https://issuer/" }), "issuer"],
    ["for another audience", withClaims({ aud: "other" }), "audience"],
    ["without audience", withClaims({ aud: undefined }), "audience"],
    ["for an audience that is null", withClaims({ aud: null }), "audience"],
    ["for another cluster", withClaims({ aud: `${common}/west` }), "audience"],
    [
      "for the audience of a cluster and that of all",
      withClaims({ aud: terms.audiences }),
      "audience",
    ],
    ["for an audience that is empty", withClaims({ aud: "" }), "audience"],
    ["for two audiences", withClaims({ aud: [claims.aud, "other"] }), "audience"],
    ["for one audience in a list", withClaims({ aud: [claims.aud] }), "audience"],
    ["for an audience in upper case", withClaims({ aud: claims.aud.toUpperCase() }), "audience"],
    ["that expires now", withClaims({ exp: second }), "expired"],
    ["that expired at the epoch", withClaims({ exp: 0 }), "expired"],
    ["with nbf in 301 seconds", withClaims({ nbf: second + 301 }), "not-yet-valid"],
    ["with iat in 301 seconds", withClaims({ iat: second + 301 }), "not-yet-valid"],
    ["for system:admin", withClaims({ sub: "system:admin" }), "system-name"],
    ["for system:", withClaims({ sub: "system:" }), "system-name"],
    [
      "in the group system:masters",
      withClaims({ groups: ["devs", "system:masters"] }),
      "system-name",
    ],
    [
      "in the group system:authenticated",
      withClaims({ groups: ["system:authenticated"] }),
      "system-name",
    ],
    ["with groups as a string", withClaims({ groups: "devs" }), "claims"],
    ["with groups null", withClaims({ groups: null }), "claims"],
    ["with groups as an object", withClaims({ groups: { 0: "devs", length: 1 } }), "claims"],
    ["with a group that is a number", withClaims({ groups: ["devs", 1] }), "claims"],
    ["with a group that is a list", withClaims({ groups: [["system:masters"]] }), "claims"],
    ["with an empty group", withClaims({ groups: [""] }), "claims"],
    ["with its private claim as a string", withClaims({ "management.service": "{}" }), "claims"],
    [
      "with a private claim of another name",
      withClaims({ "management.service": undefined, "Management.Service": service }),
      "claims",
    ],
    ["without name", withService({ name: undefined }), "claims"],
    ["with a name that is a number", withService({ name: 1 }), "claims"],
    ["with keyID null", withService({ keyID: null }), "claims"],
    ["with an empty keyID", withService({ keyID: "" }), "claims"],
    ["with scope null", withService({ scope: null }), "claims"],
    ["with an empty scope", withService({ scope: "" }), "claims"],
    ["with scope as an object", withService({ scope: {} }), "claims"],
    ["with scope in another case", withService({ scope: undefined, Scope: "{}" }), "claims"],
    ["with a limit that nothing reads", withService({ readOnly: true }), "claims"],
    ["with a scope that is not JSON", withService({ scope: "{" }), "scope"],
    ["with two scopes that are not a list", withService({ scope: "{}{}" }), "scope"],
    ["with the scope null in JSON", withScope(null), "scope"],
    ["with a scope that is text", withScope("{}"), "scope"],
    ["with a scope that is a number", withScope(1), "scope"],
    ["with an empty list of scopes", withScope([]), "scope"],
    ["with a list of scopes, of which one is invalid", withScope([{}, { a: 1 }]), "scope"],
    ["with a list of scopes, of which one is null", withScope([{}, null]), "scope"],
    ["with a list in a list of scopes", withScope([[{}]]), "scope"],
    ["with an unknown field in a scope", withScope({ clusters: [], unknown: [] }), "scope"],
    ["with a field __proto__ in a scope", withService({ scope: '{"__proto__":{}}' }), "scope"],
    ["with a field of another type in a scope", withScope({ clusters: "one" }), "scope"],
    ["with 65 rules in a scope", withScope({ rules: Array(65).fill({}) }), "scope"],
    ["with 1001 entries in a scope", withScope({ projects: Array(1001).fill(null) }), "scope"],
    [
      "with a scope nested 2000 deep",
      withService({ scope: "[".repeat(2000) + "]".repeat(2000) }),
      "scope",
    ],
  ])("%s", async (_rule, text, reason) => {
    expect(await verify(text)).toEqual({ ok: false, reason });
  });
});

describe("any text", () => {
  const part = fc.oneof(fc.base64String(), fc.json().map(encoded), fc.constant(goodHeader));
  const texts = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(part, { maxLength: 5 }).map((all) => all.join(".")),
    fc.json().map((payload) => signed(payload)),
    fc.json().map((value) => withClaims({ "management.service": JSON.parse(value) })),
    fc
      .object()
      .filter((changes) => textOf(changes) !== "{}")
      .map((changes) => signedText({ ...header, ...changes }, claims, es256)),
  );

  test("is refused with a reason of the table, and never throws", async () => {
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        fc.pre(text !== good);
        const result = await verify(text);
        expect(!result.ok && tokenProblems.includes(result.reason)).toBe(true);
      }),
      runs(300),
    );
  });

  const character = fc.oneof(
    fc.constantFrom(...alphabet, ..."._=+/ \n".split("")),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  );
  const position = fc.nat({ max: good.length - 1 });

  test("that is a good token with one character changed, added or removed is refused", async () => {
    const edited = fc.tuple(position, character, fc.constantFrom(0, 1), fc.boolean());
    await fc.assert(
      fc.asyncProperty(edited, async ([at, added, removed, isAdded]) => {
        const text = `${good.slice(0, at)}${isAdded ? added : ""}${good.slice(at + removed)}`;
        fc.pre(text !== good);
        expect((await verify(text)).ok).toBe(false);
      }),
      runs(400),
    );
  });

  test("that differs from a good token in the last character is refused", async () => {
    const others = [...Array(128).keys()].map((code) => String.fromCharCode(code));
    const results = await Promise.all(others.map((last) => verify(`${good.slice(0, -1)}${last}`)));
    expect(others.filter((_, index) => results[index]?.ok)).toEqual([good.slice(-1)]);
  });
});

test("a reason is the only thing that a refusal says", async () => {
  const result = await verify(withClaims({ sub: "system:canary" }));
  expect(Object.keys(result)).toEqual(["ok", "reason"]);
});

/** A good token of this many characters. */
function sized(length: number): string {
  const pads = [0, 1, 2, 3].map((more) => `a${"a".repeat(more)}`);
  const base = (pad: string) => withClaims({ pad });
  const found = pads
    .map((pad) => {
      const missing = length - base(pad).length;
      return base(`${pad}${"a".repeat(Math.max(0, Math.floor((missing * 3) / 4)))}`);
    })
    .find((text) => text.length === length);
  if (found === undefined) throw new RangeError(`no token has ${length} characters`);
  return found;
}

/** The text with another last character, which decodes to the same bytes. */
function lastChanged(text: string): string {
  const bytes = Buffer.from(goodSignature, "base64url");
  const last = alphabet.find(
    (one) =>
      one !== text.slice(-1) &&
      Buffer.from(`${goodSignature.slice(0, -1)}${one}`, "base64url").equals(bytes),
  );
  return `${text.slice(0, -1)}${last}`;
}

/** Base64 without padding, and with at least one character that base64url does not have. */
function standard(bytes: Buffer): string {
  const text = bytes.toString("base64").replaceAll("=", "");
  if (!/[+/]/.test(text)) throw new RangeError("the text has no + and no /");
  return text;
}

/** The object with one more member, which it may have already. */
function twice(object: object, member: string): string {
  return `${textOf(object).slice(0, -1)},${member}}`;
}

function unsigned(alg: string): string {
  return `${encoded({ ...header, alg })}.${goodPayload}.`;
}

function kidOf(state: string): string {
  return signingKeys.keys.find((key) => key.state === state)?.kid ?? "";
}
