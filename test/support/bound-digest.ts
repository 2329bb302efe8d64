import { createHash } from "node:crypto";

/** SHA-256 in hex. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The digest of a key for `spec.key`, bound to a subject such as `user:alice`. */
export function boundDigest(key: string, subject: string): string {
  return `sha256:${sha256(key).slice(0, 16)}.${sha256(`${key}\n${subject}`)}`;
}
