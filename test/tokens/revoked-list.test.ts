import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readingBounds } from "../../src/api/reading-bounds.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import {
  isRevoked,
  listProblems,
  type RevokedListOptions,
  type RevokedToken,
  revokedToken,
  signRevokedList,
  verifyRevokedList,
} from "../../src/tokens/revoked-list.ts";
import { verifyDirectToken } from "../../src/tokens/direct-token.ts";
import {
  encoded,
  hmacSigner,
  newKeys,
  publishedKeys,
  signedText,
  signerWith,
  strangeKey,
} from "./signed-text.ts";
import { changedTexts } from "../support/changed-texts.ts";
import { runs } from "../support/property-runs.ts";

const second = 1_767_225_600;
const now = second * 1000;
const signingKeys = newKeys("next", "signing");
const { signing } = signingKeys;
const strange = strangeKey();
const terms = { keys: publishedKeys(signingKeys), issuer: "https://issuer", now };
const [one, other] = [randomUUID(), randomUUID()];
const revoked = [revokedToken(one, now + 60_000), revokedToken(other, now + 1000)];

const sign = (changes: Partial<RevokedListOptions> = {}, keys = signingKeys) =>
  signRevokedList(
    { issuer: terms.issuer, now, seq: { epoch: 1, n: 20 }, revoked, ...changes },
    keys,
  );
const verify = (text: string, at = now) => verifyRevokedList(text, { ...terms, now: at });
const verdicts = async (text: string, at = now) => {
  const result = await verify(text, at);
  return result.ok && [one, other, randomUUID()].map((jti) => isRevoked(result.list, jti));
};

const header = { alg: "ES256", typ: "latchkey-revoked+jwt", kid: signing.kid };
const entries = revoked.map(({ entry }) => entry).join("");
const claims = { iss: terms.issuer, iat: second, seq: "1.20", revoked: entries };
const es256 = signerWith(signing.privateKey);
const withHeader = (changes: object, signer = es256) =>
  signedText({ ...header, ...changes }, claims, signer);
const withClaims = (changes: object) => signedText(header, { ...claims, ...changes }, es256);

describe("a deny list", async () => {
  const text = await sign();

  test("arrives with its seq, its time and its tokens", async () => {
    expect(await verify(text)).toMatchObject({
      ok: true,
      list: { seq: { epoch: 1, n: 20 }, issuedAt: now },
    });
    expect(await verdicts(text)).toEqual([true, true, false]);
  });

  test("does not contain the jti of a token", () => {
    const payload = Buffer.from(text.split(".")[1] ?? "", "base64url").toString();
    expect(payload).toContain(`"seq":"1.20"`);
    expect(payload).not.toContain(one);
    expect(payload).not.toContain(Buffer.from(one).toString("base64url"));
  });

  test.each<[string, number, readonly boolean[]]>([
    ["a token in its last millisecond", now + 999, [true, true, false]],
    ["no token at its expiry", now + 1000, [true, false, false]],
    ["nothing when all have expired", now + 60_000, [false, false, false]],
  ])("read later has %s", async (_rule, at, expected) => {
    expect(await verdicts(text, at)).toEqual(expected);
  });

  test("is signed without the tokens that have expired", async () => {
    const result = await verify(await sign({ now: now + 1000 }), now);
    expect(result.ok && result.list.digests.size).toBe(1);
  });

  test.each<[string, string, number]>([
    ["no tokens", "", 0],
    ["a token twice", `${revoked[0]?.entry}${revoked[0]?.entry}`, 1],
  ])("may have %s", async (_rule, all, size) => {
    const result = await verify(withClaims({ revoked: all }));
    expect(result.ok && result.list.digests.size).toBe(size);
  });

  test("may be signed with a key that signed before", async () => {
    const retired = newKeys("retired", "signing");
    const before = { ...retired, signing: retired.keys[0] ?? retired.signing };
    const result = await verifyRevokedList(await sign({}, before), {
      ...terms,
      keys: publishedKeys(retired),
    });
    expect(result.ok).toBe(true);
  });

  test("keeps a token for the whole of its last second", async () => {
    const list = await sign({ revoked: [revokedToken(one, now + 1)] });
    expect(await verdicts(list)).toEqual([true, false, false]);
  });

  test("may have 200,000 tokens, and no more", async () => {
    const all = Array<RevokedToken>(readingBounds.revokedTokens.values).fill(
      revokedToken(one, now + 60_000),
    );
    expect(await verdicts(await sign({ revoked: all }))).toEqual([true, false, false]);
    await expect(sign({ revoked: [...all, ...revoked] })).rejects.toThrow(
      "200002 tokens are revoked; at most 200000 can be",
    );
  });
});

describe("a deny list is refused", () => {
  test.each<[string, string, string]>([
    ["empty", "", "malformed"],
    ["of 8 MiB and a character", "a".repeat(8 * 1024 * 1024 + 1), "oversized"],
    ["with a header nested 200,000 deep", `${encoded(nested(200_000))}.a.b`, "malformed"],
    ["with the typ of a token", withHeader({ typ: "JWT" }), "type"],
    ["with the typ in another case", withHeader({ typ: "Latchkey-Revoked+JWT" }), "type"],
    ["without typ", withHeader({ typ: undefined }), "type"],
    ["with alg none", withHeader({ alg: "none" }), "algorithm"],
    ["with HS256", withHeader({ alg: "HS256" }, hmacSigner("secret")), "algorithm"],
    ["with RS256", withHeader({ alg: "RS256" }), "algorithm"],
    ["with an unknown kid", withHeader({ kid: strange.kid }), "unknown-kid"],
    ["with the kid __proto__", withHeader({ kid: "__proto__" }), "unknown-kid"],
    ["without kid", withHeader({ kid: undefined }), "header"],
    ["with an embedded jwk", withHeader({ jwk: strange.publicJwk }), "header"],
    ["signed with another key", withHeader({}, signerWith(strange.privateKey)), "signature"],
    ["of another issuer", withClaims({ iss: "https://other" }), "issuer"],
    ["without issuer", withClaims({ iss: undefined }), "claims"],
    ["without time", withClaims({ iat: undefined }), "claims"],
    ["with a time as text", withClaims({ iat: `${second}` }), "claims"],
    ["with a negative time", withClaims({ iat: -1 }), "claims"],
    ["with a time of half a second", withClaims({ iat: 0.5 }), "claims"],
    ["without seq", withClaims({ seq: undefined }), "claims"],
    ["with seq as a number", withClaims({ seq: 1.2 }), "claims"],
    ["with an empty seq", withClaims({ seq: "" }), "seq"],
    ["with a seq without epoch", withClaims({ seq: "20" }), "seq"],
    ["with a seq of 16 digits", withClaims({ seq: "1.1000000000000000" }), "seq"],
    ["without entries", withClaims({ revoked: undefined }), "claims"],
    ["with entries as a list", withClaims({ revoked: [entries] }), "claims"],
    ["with half an entry", withClaims({ revoked: entries.slice(0, -4) }), "entries"],
    ["with padding", withClaims({ revoked: `${entries}====` }), "entries"],
    [
      "with a space between entries",
      withClaims({ revoked: entries.replace(/.{28}/, "$& ") }),
      "entries",
    ],
    ["with entries of another alphabet", withClaims({ revoked: "+".repeat(28) }), "entries"],
    [
      "with its seq twice",
      signedText(header, `${JSON.stringify(claims).slice(0, -1)},"seq":"9.9"}`, es256),
      "malformed",
    ],
  ])("%s", async (_rule, text, reason) => {
    expect(await verify(text)).toEqual({ ok: false, reason });
  });

  test("with any change of a character, and never throws", async () => {
    await fc.assert(
      fc.asyncProperty(changedTexts(await sign()), async (changed) => {
        const result = await verify(changed);
        expect(!result.ok && listProblems.includes(result.reason)).toBe(true);
      }),
      runs(300),
    );
  });

  test("with any signed claims that are not those of a list", async () => {
    const payloads = fc.record(
      { iss: fc.constant(terms.issuer), iat: fc.jsonValue(), seq: fc.string(), revoked: fc.json() },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(payloads, async (payload) => {
        const result = await verify(signedText(header, payload, es256));
        expect(result.ok).toBe(false);
      }),
    );
  });
});

test("a deny list is not accepted as a token", async () => {
  const token = new SecretText(await sign());
  expect(await verifyDirectToken(token, { ...terms, audiences: ["aud"] })).toEqual({
    ok: false,
    reason: "type",
  });
});

test.each<[string, number]>([
  ["a day", now + 86_400_000],
  ["the last Date", 8_640_000_000_000_000],
])("an entry has 28 characters, with an expiry of %s", (_rule, expiresAt) => {
  expect(revokedToken(one, expiresAt).entry).toMatch(/^[A-Za-z0-9_-]{28}$/);
});

/** JSON that can be read, but is too deep to be written. */
function nested(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
}
