import { createHash } from "node:crypto";
import { type ObservedAccessKey, parseOwnedAccessKey } from "../api/owned-access-key.ts";
import { SecretText } from "../api/secret-text.ts";

/** `sha256:<digest>`, or `sha256:<index>.<digest bound to the subject>`. */
const digestForm = /^sha256:([0-9a-f]{64}|[0-9a-f]{16}\.[0-9a-f]{64})$/;

/** SHA-256 of a plain key, in lower-case hex. */
export function digestOf(plain: SecretText): string {
  return createHash("sha256").update(SecretText.reveal(plain), "utf8").digest("hex");
}

/** SHA-256 of a plain key, a newline and the subject that it acts as, in lower-case hex. */
export function digestBoundTo(plain: SecretText, subject: string): string {
  return createHash("sha256")
    .update(`${SecretText.reveal(plain)}\n${subject}`, "utf8")
    .digest("hex");
}

/**
 * Parses an OwnedAccessKey for the cache, with a digest instead of the key: the SHA-256 of a plain
 * key, or the digest in `spec.key`. Throws a TypeError that names the missing metadata field.
 */
export function accessKeyCacheEntry(raw: unknown): ObservedAccessKey {
  const { key, ...rest } = parseOwnedAccessKey(raw);
  return { ...rest, keyDigest: key === undefined ? undefined : storedDigest(key) };
}

/** The digest of a stored key, which is plain or a digest itself; without the prefix `sha256:`. */
export function storedDigest(key: SecretText): string {
  return digestIn(key) ?? digestOf(key);
}

/** The digest in a stored key, without the prefix `sha256:`; undefined for a plain key. */
export function digestIn(key: SecretText): string | undefined {
  return digestForm.exec(SecretText.reveal(key))?.[1];
}
