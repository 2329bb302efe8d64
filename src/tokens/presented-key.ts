import { randomInt, timingSafeEqual } from "node:crypto";
// On an old Node.js, a named import of crc32 would fail before main can report the version.
import * as zlib from "node:zlib";
import { SecretText } from "../api/secret-text.ts";
import {
  boundPartOf,
  boundSubjectOf,
  isBoundDigest,
  keyIndexOf,
} from "../domain/access-key/key-digest.ts";
import type { KeyCandidate } from "../domain/access-key/duplicate-key.ts";
import { digestBoundTo, digestOf } from "./access-key.ts";

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
  return !plainForm.test(text) || hasWrongChecksum(text) ? undefined : plainKey(presented);
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
