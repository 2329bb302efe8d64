import { createHash } from "node:crypto";
import { type ObservedAccessKey, parseOwnedAccessKey } from "../api/owned-access-key.ts";
import { SecretText } from "../api/secret-text.ts";

/** No plain key begins with it: a colon is not in its alphabet. */
const digestPrefix = "sha256:";
const boundDigestForm = /^[0-9a-f]{16}\.[0-9a-f]{64}$/;

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
 * key, or the bound digest in `spec.key`. Throws a TypeError that names the missing metadata field.
 */
export function accessKeyCacheEntry(raw: unknown): ObservedAccessKey {
  const { key, ...rest } = parseOwnedAccessKey(raw);
  if (key === undefined) return { ...rest, keyDigest: undefined };
  const keyDigest = storedDigest(key);
  return { ...rest, keyDigest, ...(keyDigest === undefined ? { isUnbound: true } : {}) };
}

/**
 * The digest of a stored key, which is plain or a bound digest itself, without the prefix
 * `sha256:`; undefined for any other digest.
 */
export function storedDigest(key: SecretText): string | undefined {
  if (!isDigest(key)) return digestOf(key);
  const digest = SecretText.reveal(key).slice(digestPrefix.length);
  return boundDigestForm.test(digest) ? digest : undefined;
}

/** Whether a stored key is a digest instead of a plain key. */
export function isDigest(key: SecretText): boolean {
  return SecretText.reveal(key).startsWith(digestPrefix);
}
