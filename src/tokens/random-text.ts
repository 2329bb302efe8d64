import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/**
 * Generates the first segment of admission paths: 160 random bits. kube-apiserver prints it when a
 * call fails, so it is an additional hurdle, not a credential.
 */
export function newAdmissionSegment(): string {
  return randomBytes(20).toString("hex");
}

/**
 * Whether a text is a valid segment: 32 to 128 letters, digits, `-` and `_`, which need no escapes
 * in a path.
 */
export function isAdmissionSegment(text: string): boolean {
  return /^[A-Za-z0-9_-]{32,128}$/.test(text);
}

/** Generates the token of a page: 256 random bits in the alphabet of base64url. */
export function newPageToken(): string {
  return randomBytes(32).toString("base64url");
}

/** Whether a client presents this text; compares in constant time. */
export function isSameText(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text, "utf8").digest();
  return timingSafeEqual(digest(one), digest(other));
}
