import { createHash } from "node:crypto";
import { type OwnedAccessKeySeen, parseOwnedAccessKey } from "../api/owned-access-key.ts";
import { SecretText } from "../api/secret-text.ts";

const digestForm = /^sha256:([0-9a-f]{64})$/;

/** SHA-256 of a plain key as lower-case hex. */
export function digestOf(plain: SecretText): string {
  return createHash("sha256").update(SecretText.reveal(plain), "utf8").digest("hex");
}

/**
 * An OwnedAccessKey as it is held in memory, with its key's digest in place of the key: that of a plain key, or the one
 * that `sha256:<64 hex>` names. Throws a TypeError that names the missing field of metadata.
 */
export function slimOwnedAccessKey(raw: unknown): OwnedAccessKeySeen {
  const { key, ...rest } = parseOwnedAccessKey(raw);
  return { ...rest, keyDigest: key === undefined ? undefined : storedDigest(key) };
}

function storedDigest(key: SecretText): string {
  return digestForm.exec(SecretText.reveal(key))?.[1] ?? digestOf(key);
}
