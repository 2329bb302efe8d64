import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { type Es256Key, es256KeyOf, newEs256Jwk } from "../../src/tokens/es256-key.ts";
import {
  type ObservedSigningKeys,
  parseSigningKeys,
  publicJwks,
} from "../../src/tokens/signing-keys.ts";
import { parseVerificationKeys } from "../../src/tokens/verification-keys.ts";
import type { VerificationKeys } from "../../src/tokens/compact-jws.ts";
import { rawSigningKeys } from "../support/fake-informers.ts";

const createdAt = "2026-01-01T00:00:00Z";

/** New signing keys in these states. */
export function newKeys(...states: readonly string[]): ObservedSigningKeys {
  const entries = states.map((state) => ({ ...newEs256Jwk(), state, createdAt }));
  const encoded = Buffer.from(JSON.stringify({ keys: entries })).toString("base64");
  return parseSigningKeys(rawSigningKeys({ data: { "keys.json": encoded } }));
}

/** The published keys as a verifier reads them. */
export function publishedKeys(keys: ObservedSigningKeys): VerificationKeys {
  const result = parseVerificationKeys(Buffer.from(JSON.stringify(publicJwks(keys))));
  return result.ok ? result.keys : new Map();
}

/** A new key that no verifier knows. */
export function strangeKey(): Es256Key {
  const key = es256KeyOf(newEs256Jwk().privateJwk);
  if (key === undefined) throw new TypeError("a new key is not an ES256 key");
  return key;
}

/** A JSON object, or the text of one. */
export type Json = string | object;

/** Signs the first two parts of a text. */
export type Signer = (input: string) => Buffer;

/** Header and payload as a signed text. */
export function signedText(header: Json, payload: Json, signer: Signer): string {
  return signedParts(encoded(header), encoded(payload), signer);
}

/** Encoded header and payload as a signed text. */
export function signedParts(header: string, payload: string, signer: Signer): string {
  const input = `${header}.${payload}`;
  return `${input}.${signer(input).toString("base64url")}`;
}

/** Base64url of the JSON. */
export function encoded(json: Json): string {
  return Buffer.from(textOf(json)).toString("base64url");
}

/** The JSON as text. */
export function textOf(json: Json): string {
  return typeof json === "string" ? json : JSON.stringify(json);
}

/** Signs with ES256, ES384 or RS256, by the type of the key. */
export function signerWith(key: KeyObject, hash = "sha256"): Signer {
  return (input) => sign(hash, Buffer.from(input), { key, dsaEncoding: "ieee-p1363" });
}

/** Signs with ES256 in the form of X.509 instead of JWS. */
export function derSigner(key: KeyObject): Signer {
  return (input) => sign("sha256", Buffer.from(input), { key, dsaEncoding: "der" });
}

/** Signs with HS256 and this secret. */
export function hmacSigner(secret: string | Buffer): Signer {
  return (input) => createHmac("sha256", secret).update(input).digest();
}

/** A new private key for ES384. */
export function es384Key(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey;
}

/** A new private key for RS256. */
export function rs256Key(): KeyObject {
  return generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
}
