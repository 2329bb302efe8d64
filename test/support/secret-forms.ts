import { createHash } from "node:crypto";

/** Forms in which a secret could appear. */
export function formsOf(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  return [
    text,
    bytes.toString("base64").replace(/=+$/, ""),
    bytes.toString("base64url"),
    encodeURIComponent(text),
    createHash("sha256").update(text).digest("hex"),
  ];
}
