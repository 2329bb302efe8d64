import { isRecord, recordAt, stringAt } from "../api/parse.ts";
import { SecretText } from "../api/secret-text.ts";
import { digestOf } from "./access-key.ts";
import { generateKey } from "./presented-key.ts";

/**
 * `spec.key` as it shall be stored, where it was sent empty: that of the stored object, or on a create a new one. Undefined when it
 * was sent, or nothing is to be filled in.
 */
export function missingKey(object: unknown, stored: unknown): SecretText | undefined {
  if (keyIn(object) !== "") return undefined;
  if (stored === undefined) return generateKey();
  return keyIn(stored) === "" ? undefined : new SecretText(keyIn(stored));
}

/** The object with this key, as JSON that is sent to the API server alone. */
export function withKey(object: Readonly<Record<string, unknown>>, key: SecretText): Readonly<Record<string, unknown>> {
  const { spec } = object;
  return { ...object, spec: { ...(isRecord(spec) ? spec : {}), key: SecretText.reveal(key) } };
}

/** The digest of an object's key, in lower-case hex; undefined without one. */
export function digestIn(object: unknown): string | undefined {
  const key = keyIn(object);
  return key === "" ? undefined : (/^sha256:([0-9a-f]{64})$/.exec(key)?.[1] ?? digestOf(new SecretText(key)));
}

function keyIn(object: unknown): string {
  return stringAt(recordAt(object, "spec"), "key") ?? "";
}
