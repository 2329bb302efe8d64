import { createHmac, createSecretKey, randomBytes } from "node:crypto";
import { SecretText } from "../api/secret-text.ts";

/**
 * Computes a digest of Secret data (values are base64, RFC 4648 section 4), for comparison within
 * this process only.
 */
export type DataDigest = (data: Readonly<Record<string, SecretText>>) => string;

/**
 * Creates a digest with a random key of this process: equal for equal keys and bytes, independent
 * of the order of keys and of the unused bits at the end of base64, which the API server clears.
 */
export function createDataDigest(): DataDigest {
  // Passing bytes would create a key object for every digest, which takes longer than the digest.
  const key = createSecretKey(randomBytes(32));
  return (data) => {
    const entries = Object.entries(data).sort(([one], [other]) => (one < other ? -1 : 1));
    // A single update is faster than one for each part of up to 10,000 keys.
    const bytes = Buffer.allocUnsafe(
      entries.reduce((sum, [name, value]) => sum + mostBytes(name, value), 0),
    );
    let end = 0;
    for (const [name, value] of entries) {
      end = writeWithLength(bytes, end, { text: name, encoding: "utf8" });
      end = writeWithLength(bytes, end, { text: SecretText.reveal(value), encoding: "base64" });
    }
    const digest = createHmac("sha256", key).update(bytes.subarray(0, end)).digest("base64url");
    // The memory is reused without being cleared.
    bytes.fill(0);
    return digest;
  };
}

const lengthBytes = 4;

/**
 * An upper bound: a UTF-16 unit has at most 3 bytes in UTF-8, and 4 characters of base64 at most 3
 * bytes.
 */
function mostBytes(name: string, value: SecretText): number {
  return 2 * lengthBytes + 3 * name.length + value.length;
}

function writeWithLength(
  bytes: Buffer,
  at: number,
  { text, encoding }: { readonly text: string; readonly encoding: "utf8" | "base64" },
): number {
  const length = bytes.write(text, at + lengthBytes, encoding);
  bytes.writeUInt32BE(length, at);
  return at + lengthBytes + length;
}
