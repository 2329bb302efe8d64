import { createHmac, createSecretKey, type Hmac, randomBytes } from "node:crypto";
import { SecretText } from "../api/secret-text.ts";

/** A digest of Secret data (values are base64, RFC 4648 section 4), for comparison within this process only. */
export type DataDigest = (data: Readonly<Record<string, SecretText>>) => string;

/**
 * A digest under a key that this process alone has: equal for equal keys and bytes, whatever the order of the keys and
 * the unused bits at the end of base64, which the API server clears.
 */
export function createDataDigest(): DataDigest {
  // Bytes would become a key object anew for every digest, which costs more than the digest.
  const key = createSecretKey(randomBytes(32));
  return (data) => {
    const hmac = createHmac("sha256", key);
    for (const [name, value] of Object.entries(data).sort(([one], [other]) => (one < other ? -1 : 1))) {
      updateWithLength(hmac, Buffer.from(name, "utf8"));
      updateWithLength(hmac, Buffer.from(SecretText.reveal(value), "base64"));
    }
    return hmac.digest("base64url");
  };
}

function updateWithLength(hmac: Hmac, bytes: Buffer): void {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  hmac.update(length).update(bytes);
}
