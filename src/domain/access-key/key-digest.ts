import type { OwnedAccessKeySpec } from "../../api/owned-access-key.ts";

const indexLength = 16;

/**
 * The index of a key: the first 16 hex digits of its SHA-256, with which the digest of a plain key
 * and a bound digest begin.
 */
export function keyIndexOf(keyDigest: string): string {
  return keyDigest.slice(0, indexLength);
}

/**
 * Whether a digest is bound to the subject of the key (`<index>.<SHA-256 of key, newline and
 * subject>`); otherwise it is the SHA-256 of a plain key.
 */
export function isBoundDigest(keyDigest: string): boolean {
  return keyDigest[indexLength] === ".";
}

/** The verified part of a bound digest: the SHA-256 of the key, a newline and the subject. */
export function boundPartOf(keyDigest: string): string {
  return keyDigest.slice(indexLength + 1);
}

/**
 * The subject that a digest is bound to: `user:<name>`, `team:<name>` or `subject:<name>` from the
 * spec, without configured prefixes.
 */
export function boundSubjectOf({
  user,
  team,
  subject,
}: Pick<OwnedAccessKeySpec, "user" | "team" | "subject">): string | undefined {
  if (user !== undefined) return `user:${user}`;
  if (team !== undefined) return `team:${team}`;
  return subject === undefined ? undefined : `subject:${subject}`;
}
