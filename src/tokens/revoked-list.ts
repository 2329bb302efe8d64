import { createHash } from "node:crypto";
import { stringAt } from "../api/parse.ts";
import { readingBounds } from "../api/reading-bounds.ts";
import {
  parseRevocationSeq,
  type RevocationSeq,
  revocationSeqText,
} from "../domain/endpoint-token/revocation-seq.ts";
import { bytesIn } from "./es256-key.ts";
import {
  type ListVerificationOptions,
  signedListProblems,
  signList,
  verifyList,
} from "./signed-list.ts";
import type { ObservedSigningKeys } from "./signing-keys.ts";

/** A revoked token as it is in the list; {@link revokedToken} creates it once per token. */
export interface RevokedToken {
  /** 28 characters, see {@link revokedToken}. */
  readonly entry: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** What is signed; `now` in milliseconds since the epoch. */
export interface RevokedListOptions {
  readonly issuer: string;
  readonly now: number;
  readonly seq: RevocationSeq;
  readonly revoked: readonly RevokedToken[];
}

/** A verified deny list. */
export interface RevokedList {
  readonly seq: RevocationSeq;
  /** When it was signed, in milliseconds since the epoch. */
  readonly issuedAt: number;
  /** The first 20 characters of each entry. */
  readonly digests: ReadonlySet<string>;
}

/** Why a list is refused; a closed set for metrics. */
export const listProblems = [...signedListProblems, "seq", "entries"] as const;

/** One of these problems. */
type ListProblem = (typeof listProblems)[number];

/** The list, or why it is refused. */
type ListVerification =
  | { readonly ok: true; readonly list: RevokedList }
  | { readonly ok: false; readonly reason: ListProblem };

const typ = "latchkey-revoked+jwt";

const digestBytes = 15;
const expiryBytes = 6;
const entryBytes = digestBytes + expiryBytes;
const digestCharacters = (digestBytes / 3) * 4;
const entryCharacters = (entryBytes / 3) * 4;

/**
 * The entry of a token: in base64url, the first 15 bytes of the SHA-256 of its jti, and its expiry
 * as 6 bytes of seconds. It has half the size of jti and exp in JSON, and does not publish the jti.
 * `expiresAt` in milliseconds since the epoch.
 */
export function revokedToken(jti: string, expiresAt: number): RevokedToken {
  const bytes = Buffer.alloc(entryBytes);
  hashOf(jti).copy(bytes, 0, 0, digestBytes);
  bytes.writeUIntBE(Math.ceil(expiresAt / 1000), digestBytes, expiryBytes);
  return { entry: bytes.toString("base64url"), expiresAt };
}

/**
 * Signs the deny list as a JWT with the current signing key, without the tokens that have expired.
 * Throws a RangeError for more than `readingBounds.revokedTokens`: no verifier accepts them.
 */
export async function signRevokedList(
  { issuer, now, seq, revoked }: RevokedListOptions,
  keys: ObservedSigningKeys,
): Promise<string> {
  const current = revoked.filter(({ expiresAt }) => expiresAt > now);
  if (current.length > readingBounds.revokedTokens.values)
    throw new RangeError(
      `${current.length} tokens are revoked; at most ${readingBounds.revokedTokens.values} can be`,
    );
  const revokedText = current.map(({ entry }) => entry).join("");
  const claims = { seq: revocationSeqText(seq), revoked: revokedText };
  return signList({ typ, issuer, now, claims }, keys);
}

/** Verifies a list of {@link signRevokedList}, and drops the tokens that have expired. */
export async function verifyRevokedList(
  text: string,
  { keys, issuer, now }: ListVerificationOptions,
): Promise<ListVerification> {
  const verified = await verifyList(text, {
    typ,
    mostCharacters: readingBounds.revokedTokens.bytes,
    keys,
    issuer,
  });
  if (!verified.ok) return verified;
  const { payload, issuedAt } = verified;
  const [seqText, entries] = ["seq", "revoked"].map((name) => stringAt(payload, name));
  if (seqText === undefined || entries === undefined) return refused("claims");
  const seq = parseRevocationSeq(seqText);
  if (seq === undefined) return refused("seq");
  const digests = digestsIn(entries, now);
  return digests === undefined
    ? refused("entries")
    : { ok: true, list: { seq, issuedAt, digests } };
}

/** Whether the token with this jti is in the list. */
export function isRevoked({ digests }: RevokedList, jti: string): boolean {
  return digests.has(hashOf(jti).toString("base64url", 0, digestBytes));
}

/** The digests of the entries that have not expired; undefined if the text has no whole entries. */
function digestsIn(entries: string, now: number): ReadonlySet<string> | undefined {
  const bytes = bytesIn(entries);
  if (bytes === undefined || bytes.length % entryBytes !== 0) return undefined;
  const digests = new Set<string>();
  for (let at = 0; at * entryBytes < bytes.length; at += 1) {
    const expiry = bytes.readUIntBE(at * entryBytes + digestBytes, expiryBytes);
    const start = at * entryCharacters;
    if (expiry * 1000 > now) digests.add(entries.slice(start, start + digestCharacters));
  }
  return digests;
}

function hashOf(jti: string): Buffer {
  return createHash("sha256").update(jti, "utf8").digest();
}

function refused(reason: ListProblem): ListVerification {
  return { ok: false, reason };
}
