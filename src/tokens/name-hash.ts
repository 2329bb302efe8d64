import { createHash } from "node:crypto";

/** A hash of text for the name of an object: 20 lower-case hex digits. */
export function hashOf(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex").slice(0, 20);
}
