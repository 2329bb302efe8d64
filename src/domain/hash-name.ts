import { createHash } from "node:crypto";

/**
 * The first `length` hex digits of the SHA-256 of the parts as a JSON list, so that different lists
 * do not collide.
 */
export function hashName(parts: readonly unknown[], length = 16): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, length);
}
