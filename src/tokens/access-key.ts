import { createHash, randomInt, timingSafeEqual } from "node:crypto";
// On an old Node.js, a named import of crc32 would fail before main can report the version.
import * as zlib from "node:zlib";
import { type ObservedAccessKey, parseOwnedAccessKey } from "../api/owned-access-key.ts";
import { SecretText } from "../api/secret-text.ts";
import type { KeyCandidate } from "../domain/access-key/duplicate-key.ts";
import {
  boundPartOf,
  boundSubjectOf,
  isBoundDigest,
  keyIndexOf,
} from "../domain/access-key/key-digest.ts";

/** No plain key begins with it: a colon is not in its alphabet. */
const digestPrefix = "sha256:";
/**
 * Whether a user wrote this instead of a bound digest, in the alphabet of a plain key: the schema
 * of `spec.key` refuses it, too. As a plain key, a text in Git would be the credential.
 */
function isNearDigest(text: string): boolean {
  return (
    /^[Ss][Hh][Aa][^0-9A-Za-z]{0,3}[0-9]/.test(text) ||
    /(?:^|[^0-9A-Fa-f])[0-9A-Fa-f]{15,17}[^0-9A-Fa-f]{1,3}[0-9A-Fa-f]{60}/.test(text)
  );
}

const boundDigestForm = /^[0-9a-f]{16}\.[0-9a-f]{64}$/;

/** SHA-256 of a plain key, in lower-case hex. */
export function digestOf(plain: SecretText): string {
  return createHash("sha256").update(SecretText.reveal(plain), "utf8").digest("hex");
}

/** SHA-256 of a plain key, a newline and the subject that it acts as, in lower-case hex. */
export function digestBoundTo(plain: SecretText, subject: string): string {
  return createHash("sha256")
    .update(`${SecretText.reveal(plain)}\n${subject}`, "utf8")
    .digest("hex");
}

/**
 * Parses an OwnedAccessKey for the cache, with a digest instead of the key: the SHA-256 of a plain
 * key, or the bound digest in `spec.key`. Throws a TypeError that names the missing metadata field.
 */
export function accessKeyCacheEntry(raw: unknown): ObservedAccessKey {
  const { key, ...rest } = parseOwnedAccessKey(raw);
  if (key === undefined) return { ...rest, keyDigest: undefined };
  const keyDigest = storedDigest(key);
  return { ...rest, keyDigest, ...(keyDigest === undefined ? { isUnbound: true } : {}) };
}

/**
 * The digest of a stored key, which is plain or a bound digest itself, without the prefix
 * `sha256:`; undefined for any other digest, and for what looks like one.
 */
export function storedDigest(key: SecretText): string | undefined {
  const text = SecretText.reveal(key);
  if (!isDigest(key)) return isNearDigest(text) ? undefined : digestOf(key);
  const digest = text.slice(digestPrefix.length);
  return boundDigestForm.test(digest) ? digest : undefined;
}

/** Whether a stored key is a digest instead of a plain key. */
export function isDigest(key: SecretText): boolean {
  return SecretText.reveal(key).startsWith(digestPrefix);
}

/** The pattern of a plain key, as for `spec.key` in the CRD. */
const plainForm = /^[A-Za-z0-9._~+/=-]{16,512}$/;

/**
 * `lk_<id>_<256 random bits>_<CRC-32 of the text before it>`, each in base62 (the format of
 * GitHub's and npm's tokens).
 */
const generatedForm = /^lk_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}_([0-9A-Za-z]{6})$/;

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const base = BigInt(digits.length);

/** A plain key, to look up the objects with the same key. */
interface PlainKey {
  /** See {@link keyIndexOf}. */
  readonly index: string;
  /**
   * Whether an object has this key, by its digest; a bound digest is computed with the subject of
   * the object. The comparison takes constant time.
   */
  readonly matches: (candidate: KeyCandidate) => boolean;
}

/**
 * Parses a presented key; undefined if it is malformed and needs no lookup: wrong alphabet or
 * length, such as a digest, or a generated key with a wrong checksum.
 */
export function presentedKey(presented: SecretText): PlainKey | undefined {
  const text = SecretText.reveal(presented);
  const isPlain = plainForm.test(text) && !isNearDigest(text) && !hasWrongChecksum(text);
  return isPlain ? plainKey(presented) : undefined;
}

/** Wraps a key that is known to be plain. */
export function plainKey(plain: SecretText): PlainKey {
  const digest = digestOf(plain);
  // Computes one digest for each subject, not for each object.
  const boundDigests = new Map<string, string>();
  const boundTo = (subject: string): string => {
    const known = boundDigests.get(subject) ?? digestBoundTo(plain, subject);
    boundDigests.set(subject, known);
    return known;
  };
  return {
    index: keyIndexOf(digest),
    matches({ keyDigest, spec }) {
      if (keyDigest === undefined) return false;
      if (!isBoundDigest(keyDigest)) return isSameDigest(keyDigest, digest);
      const subject = boundSubjectOf(spec);
      return (
        subject !== undefined &&
        keyIndexOf(keyDigest) === keyIndexOf(digest) &&
        isSameDigest(boundPartOf(keyDigest), boundTo(subject))
      );
    },
  };
}

/** Whether two digests in hex are equal, in constant time. */
export function isSameDigest(one: string, other: string): boolean {
  return (
    one.length === other.length &&
    timingSafeEqual(Buffer.from(one, "utf8"), Buffer.from(other, "utf8"))
  );
}

/** Generates a key with 256 random bits, in a format that secret scanners recognize. */
export function generateKey(): SecretText {
  const body = `lk_${randomDigits(8)}_${randomDigits(43)}`;
  return new SecretText(`${body}_${checksumOf(body)}`);
}

/** A key that was made by its user, and what the API server gets of it. */
interface BoundKey {
  /** For `spec.key`, see {@link boundDigest}. */
  readonly digest: string;
  /** The plain key, for the output of the command alone. */
  readonly plain: string;
}

/**
 * The digest of a key for `spec.key`, bound to a subject such as `user:alice`:
 * `sha256:<index>.<digest>`.
 */
export function boundDigest(plain: SecretText, subject: string): string {
  return `sha256:${keyIndexOf(digestOf(plain))}.${digestBoundTo(plain, subject)}`;
}

/** Makes a key for a subject, such as `user:alice`. */
export function newBoundKey(subject: string): BoundKey {
  const key = generateKey();
  return { digest: boundDigest(key, subject), plain: SecretText.reveal(key) };
}

function hasWrongChecksum(text: string): boolean {
  const checksum = generatedForm.exec(text)?.[1];
  return checksum !== undefined && checksum !== checksumOf(text.slice(0, -checksum.length - 1));
}

function checksumOf(body: string): string {
  return base62(BigInt(zlib.crc32(body)), 6);
}

/** Random base62 digits; 43 digits have 256.04 random bits. */
function randomDigits(count: number): string {
  return Array.from({ length: count }, () => digits[randomInt(digits.length)]).join("");
}

function base62(value: bigint, width: number): string {
  let [rest, text] = [value, ""];
  for (; text.length < width; rest /= base) text = `${digits[Number(rest % base)]}${text}`;
  return text;
}
