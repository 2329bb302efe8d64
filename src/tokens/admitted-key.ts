import { parseOwnedAccessKeySpec, specKeyOf } from "../api/owned-access-key.ts";
import { isRecord, recordAt, stringMapAt } from "../api/parse.ts";
import { SecretText } from "../api/secret-text.ts";
import { isSameKey, type KeyCandidate } from "../domain/access-key/duplicate-key.ts";
import { tokenRuleOf } from "../domain/oidc/trusted-tokens.ts";
import { isDigest, storedDigest, generateKey, plainKey } from "./access-key.ts";

/**
 * The default of an empty `spec.key`: a new key on a create, the stored key on an update. Undefined
 * if the request has a key, or annotations that say which tokens stand for it.
 */
export function missingKey(object: unknown, stored: unknown): SecretText | undefined {
  // The schema rejects a value that is not a string; a default would hide the mistake.
  if (specKeyOf(object) !== "" || isOfAnotherType(object)) return undefined;
  const given = stringMapAt(recordAt(object, "metadata"), "annotations");
  if (tokenRuleOf({ annotations: given }) !== undefined) return undefined;
  if (stored === undefined) return generateKey();
  return specKeyOf(stored) === "" ? undefined : new SecretText(specKeyOf(stored));
}

/** The object with this key in plain text, to be sent only to the API server. */
export function withKey(
  object: Readonly<Record<string, unknown>>,
  key: SecretText,
): Readonly<Record<string, unknown>> {
  const { spec } = object;
  return { ...object, spec: { ...(isRecord(spec) ? spec : {}), key: SecretText.reveal(key) } };
}

/** The key in a written object, by its digest. */
export interface SentKey {
  /** See ObservedAccessKey. */
  readonly keyDigest: string;
  /** Whether another object has the same key, by the key or bound digest of the request. */
  readonly matches: (candidate: KeyCandidate) => boolean;
}

/** Parses the key in a written object; undefined without one that the schema accepts. */
export function sentKey(object: unknown): SentKey | undefined {
  const key = new SecretText(specKeyOf(object));
  if (key.isEmpty) return undefined;
  const keyDigest = storedDigest(key);
  if (keyDigest === undefined) return undefined;
  if (!isDigest(key)) return { keyDigest, matches: plainKey(key).matches };
  const own = { spec: parseOwnedAccessKeySpec(recordAt(object, "spec")), keyDigest };
  return { keyDigest, matches: (candidate) => isSameKey(own, candidate) };
}

function isOfAnotherType(object: unknown): boolean {
  const { key } = recordAt(object, "spec");
  return key !== undefined && key !== null && typeof key !== "string";
}
