import { parseTerms } from "../api/owned-access-key.ts";
import { isRecord, recordAt, stringAt } from "../api/parse.ts";
import { SecretText } from "../api/secret-text.ts";
import { isBoundDigest } from "../domain/access-key/key-digest.ts";
import { isSameKey, type KeyCandidate } from "../domain/access-key/duplicate-key.ts";
import { digestIn, storedDigest } from "./access-key.ts";
import { generateKey, plainKey } from "./presented-key.ts";

/**
 * `spec.key` as it shall be stored, where it was sent empty: that of the stored object, or on a
 * create a new one. Undefined when it was sent, or nothing is to be filled in.
 */
export function missingKey(object: unknown, stored: unknown): SecretText | undefined {
  // What is no text is a mistake that the schema refuses: a key in its place would make it good in
  // silence.
  if (keyIn(object) !== "" || isOfAnotherType(object)) return undefined;
  if (stored === undefined) return generateKey();
  return keyIn(stored) === "" ? undefined : new SecretText(keyIn(stored));
}

/** The object with this key, as JSON that is sent to the API server alone. */
export function withKey(
  object: Readonly<Record<string, unknown>>,
  key: SecretText,
): Readonly<Record<string, unknown>> {
  const { spec } = object;
  return { ...object, spec: { ...(isRecord(spec) ? spec : {}), key: SecretText.reveal(key) } };
}

/** The key of an object that is written, without the key. */
export interface SentKey {
  /** See OwnedAccessKeySeen. */
  readonly keyDigest: string;
  readonly form: "plain" | "digest" | "bound-digest";
  /** Whether another object has the same key, by the key or digest of the request. */
  readonly matches: (candidate: KeyCandidate) => boolean;
}

/** The key of an object that is written; undefined without one. */
export function sentKey(object: unknown): SentKey | undefined {
  const key = new SecretText(keyIn(object));
  if (key.isEmpty) return undefined;
  const keyDigest = storedDigest(key);
  if (digestIn(key) === undefined) {
    const plain = plainKey(key);
    return { keyDigest, form: "plain", matches: (candidate) => plain.matches(candidate) };
  }
  const own = { spec: parseTerms(recordAt(object, "spec")), keyDigest };
  return {
    keyDigest,
    form: isBoundDigest(keyDigest) ? "bound-digest" : "digest",
    matches: (candidate) => isSameKey(own, candidate),
  };
}

function isOfAnotherType(object: unknown): boolean {
  const { key } = recordAt(object, "spec");
  return key !== undefined && key !== null && typeof key !== "string";
}

function keyIn(object: unknown): string {
  return stringAt(recordAt(object, "spec"), "key") ?? "";
}
