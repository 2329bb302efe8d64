import { inspect } from "node:util";
import { calculateJwkThumbprint } from "jose";
import { describe, expect, test } from "vitest";
import { stringAt } from "../../src/api/parse.ts";
import { newEs256Jwk } from "../../src/tokens/es256-key.ts";
import {
  knownKids,
  newSigningKeys,
  type ObservedSigningKeys,
  parseSigningKeys,
  publicJwks,
  rotationPatch,
  SigningKeysError,
} from "../../src/tokens/signing-keys.ts";
import { rawSigningKeys } from "../support/fake-informers.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const createdAt = "2026-01-01T00:00:00Z";
const secretOf = (text: string) =>
  sent({ data: { "keys.json": Buffer.from(text).toString("base64") } });
const secretWith = (...keys: readonly object[]) => secretOf(JSON.stringify({ keys }));
const key = (state: string, changes: object = {}) => ({
  ...newEs256Jwk(),
  state,
  createdAt,
  ...changes,
});
const canary = "canary-of-the-secret";

/** A Secret as the API server returns it. */
function sent(secret: object): object {
  return rawSigningKeys(secret, { uid: "u", resourceVersion: "7" });
}

describe("newSigningKeys", () => {
  const manifest = newSigningKeys({ namespace: "latchkey-system", now });

  test("returns an Opaque Secret with Latchkey's label that never prints its key", () => {
    expect(manifest).toMatchObject({
      kind: "Secret",
      type: "Opaque",
      metadata: {
        namespace: "latchkey-system",
        name: "latchkey-signing-keys",
        labels: { "management.service/component": "signing-keys" },
      },
    });
    expect(
      `${JSON.stringify(manifest)}${inspect(manifest, { depth: 9, showHidden: true })}`,
    ).toMatch(/\[secret\].*\[secret\]/s);
  });

  test("returns one key with state signing, whose kid is its thumbprint", async () => {
    const keys = parseSigningKeys(sent(manifest));
    expect(keys.keys).toEqual([keys.signing]);
    expect(keys.signing).toMatchObject({ state: "signing", createdAt });
    expect(keys.signing.kid).toBe(await calculateJwkThumbprint({ ...keys.signing.publicJwk }));
  });

  test("generates a new key each time", () => {
    const kids = [1, 2].map(
      () => parseSigningKeys(sent(newSigningKeys({ namespace: "n", now }))).signing.kid,
    );
    expect(new Set(kids).size).toBe(2);
  });
});

describe("the patch of a rotation", () => {
  const before = parseSigningKeys(secretWith(key("signing"), key("retired")));
  const later = now + 1_000;
  const patched = (publishes: boolean) => {
    const body = rotationPatch(before, { keys: before.keys, publishes }, later);
    return { body, after: parseSigningKeys(sent(body)) };
  };

  test("keeps the private keys, and is for the observed Secret alone", () => {
    const { body, after } = patched(false);
    expect(body.metadata).toEqual({ uid: "u", resourceVersion: "7" });
    const kept = ({ keys }: ObservedSigningKeys) =>
      keys.map(({ kid, state, since, createdAt: made, privateKey }) => [
        ...[kid, state, since, made, privateKey.export({ format: "jwk" })],
      ]);
    expect(kept(after)).toEqual(kept(before));
  });

  test("adds a key that does not sign yet, and removes the request", () => {
    const { body, after } = patched(true);
    expect(body.metadata).toEqual({
      uid: "u",
      resourceVersion: "7",
      annotations: { "management.service/rotate-signing-key": null },
    });
    expect(after.signing.kid).toBe(before.signing.kid);
    expect(after.keys.map(({ state, since }) => [state, since])).toEqual([
      ["signing", now],
      ["retired", now],
      ["next", later],
    ]);
  });

  test("never prints a private key", () => {
    const text = `${inspect(patched(true).body, { depth: 9 })}${JSON.stringify(patched(true).body)}`;
    expect(text).not.toContain("privateJwk");
    expect(text).not.toContain(before.signing.privateKey.export({ format: "jwk" }).d);
  });
});

describe("signing keys", () => {
  const seen = parseSigningKeys(secretWith(key("next"), key("signing"), key("retired")));

  test("are all known, and published with their public members only", () => {
    expect(knownKids(seen).size).toBe(3);
    const published = publicJwks(seen).keys;
    expect(published.map(({ kid }) => kid)).toEqual(seen.keys.map(({ kid }) => kid));
    for (const jwk of published)
      expect(Object.keys(jwk).sort()).toEqual(["alg", "crv", "kid", "kty", "use", "x", "y"]);
  });

  test("never print their private part", () => {
    const { kid, privateJwk } = newEs256Jwk();
    const shown = parseSigningKeys(secretWith({ kid, privateJwk, state: "signing", createdAt }));
    expect(
      `${inspect(shown, { depth: 9, showHidden: true })}${JSON.stringify(shown)}`,
    ).not.toContain(stringAt(privateJwk, "d"));
  });

  const duplicate = key("retired");

  test.each<[string, unknown, string]>([
    ["no data", {}, "keys.json is missing"],
    ["data that is not JSON", secretOf(canary), "keys.json is not JSON"],
    ["no keys", secretOf("[]"), "exactly one key with state signing"],
    [
      "two keys with state signing",
      secretWith(key("signing"), key("signing")),
      "exactly one key with state signing",
    ],
    [
      "a duplicate key",
      secretWith(key("signing"), duplicate, duplicate),
      "contains a duplicate key",
    ],
    [
      "two keys with state next",
      secretWith(key("signing"), key("next"), key("next")),
      "at most one key with state next",
    ],
    [
      "an invalid since",
      secretWith(key("signing", { since: canary })),
      "key 0: since must be an RFC 3339 time",
    ],
    ["an unknown state", secretWith(key(canary)), "key 0: state must be"],
    ["no state", secretWith({ ...newEs256Jwk(), createdAt }), "key 0: state must be"],
    [
      "an invalid createdAt",
      secretWith(key("signing", { createdAt: canary })),
      "key 0: createdAt must be an RFC 3339 time",
    ],
    [
      "no createdAt",
      secretWith(key("signing", { createdAt: undefined })),
      "key 0: createdAt must be an RFC 3339 time",
    ],
    [
      "a kid that is not the thumbprint",
      secretWith(key("signing", { kid: canary })),
      "key 0: kid must be the thumbprint",
    ],
    [
      "a private key that does not match the kid",
      secretWith(key("signing", { privateJwk: newEs256Jwk().privateJwk })),
      "kid must be the thumbprint",
    ],
    [
      "no private key",
      secretWith(key("signing"), key("next", { privateJwk: {} })),
      "key 1: privateJwk must be a private P-256 key",
    ],
    [
      "another type of key",
      secretWith(key("signing", { privateJwk: { kty: "RSA", d: canary } })),
      "must be a private P-256 key",
    ],
    [
      "another curve",
      secretWith(key("signing", { privateJwk: { kty: "EC", crv: "P-384", d: canary } })),
      "must be a private P-256 key",
    ],
    [
      "no private part",
      secretWith(key("signing", { privateJwk: { kty: "EC", crv: "P-256", d: "" } })),
      "must be a private P-256 key",
    ],
    [
      "an invalid private part",
      secretWith(key("signing", { privateJwk: { kty: "EC", crv: "P-256", d: canary.repeat(9) } })),
      "must be a private P-256 key",
    ],
  ])("are rejected with %s, and the error does not quote them", (_rule, secret, problem) => {
    const error = expect.toSatisfy(
      (thrown: unknown) =>
        thrown instanceof SigningKeysError &&
        thrown.message.includes(problem) &&
        !inspect(thrown).includes(canary),
    );
    let thrown: unknown;
    try {
      parseSigningKeys(secret);
    } catch (caught) {
      thrown = caught;
    }
    expect(thrown).toEqual(error);
  });
});
