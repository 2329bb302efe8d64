import { SecretText } from "../api/secret-text.ts";
import { keyIndexOf } from "../domain/access-key/key-digest.ts";
import { digestBoundTo, digestOf } from "./access-key.ts";
import { generateKey } from "./presented-key.ts";

/** A key that was made by its user, and what the API server gets of it. */
interface BoundKey {
  /** For `spec.key`, see {@link boundDigest}. */
  readonly digest: string;
  /** The plain key, for the output of the command alone. */
  readonly plain: string;
}

/**
 * The digest of a key for `spec.key`, bound to a subject such as `user:alice`:
 * `sha256:<index>.<digest>`.
 */
export function boundDigest(plain: SecretText, subject: string): string {
  return `sha256:${keyIndexOf(digestOf(plain))}.${digestBoundTo(plain, subject)}`;
}

/** Makes a key for a subject, such as `user:alice`. */
export function newBoundKey(subject: string): BoundKey {
  const key = generateKey();
  return { digest: boundDigest(key, subject), plain: SecretText.reveal(key) };
}
