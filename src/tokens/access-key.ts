import { createHash } from "node:crypto";
import { type ObservedAccessKey, parseOwnedAccessKey } from "../api/owned-access-key.ts";
import { SecretText } from "../api/secret-text.ts";

/** `sha256:<digest>`, or `sha256:<index>.<digest bound to the subject>`. */
const digestForm = /^sha256:([0-9a-f]{64}|[0-9a-f]{16}\.[0-9a-f]{64})$/;

/** SHA-256 of a plain key as lower-case hex. */
export function digestOf(plain: SecretText): string {
  return createHash("sha256").update(SecretText.reveal(plain), "utf8").digest("hex");
}

/** SHA-256 of a plain key, a newline and what it acts as, as lower-case hex. */
export function digestBoundTo(plain: SecretText, subject: string): string {
  return createHash("sha256")
    .update(`${SecretText.reveal(plain)}\n${subject}`, "utf8")
    .digest("hex");
}

/**
 * Parses an OwnedAccessKey for the cache, with a digest in place of the key: that of a plain key,
 * or the one in `spec.key`. Throws a TypeError that names the missing field of metadata.
 */
export function accessKeyCacheEntry(raw: unknown): ObservedAccessKey {
  const { key, ...rest } = parseOwnedAccessKey(raw);
  return { ...rest, keyDigest: key === undefined ? undefined : storedDigest(key) };
}

/** The digest that a stored key has or is, without the prefix `sha256:`. */
export function storedDigest(key: SecretText): string {
  return digestIn(key) ?? digestOf(key);
}

/** The digest that a stored key is, without the prefix; undefined of a plain key. */
export function digestIn(key: SecretText): string | undefined {
  return digestForm.exec(SecretText.reveal(key))?.[1];
}
