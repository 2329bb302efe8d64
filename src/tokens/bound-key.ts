import { SecretText } from "../api/secret-text.ts";
import { keyIndexOf } from "../domain/access-key/key-digest.ts";
import { digestBoundTo, digestOf } from "./access-key.ts";
import { generateKey } from "./presented-key.ts";

/** A key that was made by its user, and what the API server gets of it. */
export interface BoundKey {
  /** `sha256:<index>.<digest>` for `spec.key`, bound to the subject. */
  readonly digest: string;
  /** The plain key, for the output of the command alone. */
  readonly plain: string;
}

/** Makes a key for a subject, such as `user:alice`. */
export function newBoundKey(subject: string): BoundKey {
  const key = generateKey();
  return {
    digest: `sha256:${keyIndexOf(digestOf(key))}.${digestBoundTo(key, subject)}`,
    plain: SecretText.reveal(key),
  };
}
