import { gunzip, gzip } from "node:zlib";
import { recordAt, stringAt } from "../api/parse.ts";
import {
  parseRevocationSeq,
  type RevocationSeq,
  revocationSeqText,
} from "../domain/endpoint-token/revocation-seq.ts";
import type { VerificationKeys } from "../tokens/compact-jws.ts";
import { type RevokedList, verifyRevokedList } from "../tokens/revoked-list.ts";
import { publicJwks } from "../tokens/signing-keys.ts";
import { strictJson } from "../tokens/strict-json.ts";
import { parseVerificationKeys } from "../tokens/verification-keys.ts";

/** A deny list as it was verified. */
export interface SignedRevokedList {
  /** The JWT. */
  readonly text: string;
  readonly seq: RevocationSeq;
  /** The keys of the issuer when the list was verified. */
  readonly keys: VerificationKeys;
}

/** The data of a merge patch of the Secret: base64, or null to remove the key. */
export type KeptListData = Readonly<
  Record<(typeof dataKeys)[keyof typeof dataKeys], string | null>
>;

/** A kept list; `list` is undefined if it was too large, or is invalid. */
export interface KeptList {
  /** The newest list that was verified, which no later list may precede. */
  readonly seq: RevocationSeq;
  readonly list: RevokedList | undefined;
}

const dataKeys = { plain: "revoked.jwt", zipped: "revoked.jwt.gz", facts: "revoked.json" } as const;

/** Characters of base64: a Secret has at most 1 MiB, and the keys are in the same Secret. */
const mostKeptCharacters = 900_000;
/** As long as a list may be. */
const mostListBytes = 8 * 1024 * 1024;

/**
 * What of the Secret in the connected cluster keeps a list: the JWT, compressed if it is large, and
 * beside it the issuer, the seq and the public keys that it was verified with. These keys are
 * trusted for this list alone: the key that signed it may have left the JWK Set since then. That
 * gives nobody more power: the JWK Set in the same Secret makes any token valid, so that every
 * account that can write the Secret is trusted with all tokens. A list that is too large even when compressed is not kept,
 * and removes an older one, which would forget what was revoked since then; its seq is kept, so
 * that no older list is taken after a restart.
 */
export async function keptListData(
  { text, seq, keys }: SignedRevokedList,
  issuer: string,
): Promise<KeptListData> {
  const facts = {
    issuer,
    seq: revocationSeqText(seq),
    ...publicJwks({ keys: [...keys.values()] }),
  };
  const none = { [dataKeys.plain]: null, [dataKeys.zipped]: null };
  const data = { ...none, [dataKeys.facts]: base64(Buffer.from(JSON.stringify(facts))) };
  const plain = base64(Buffer.from(text));
  if (plain.length <= mostKeptCharacters) return { ...data, [dataKeys.plain]: plain };
  const zipped = base64(await compressed(text));
  return zipped.length <= mostKeptCharacters ? { ...data, [dataKeys.zipped]: zipped } : data;
}

/** Whether the data has the list itself. */
export function hasList(data: KeptListData): boolean {
  return data[dataKeys.plain] !== null || data[dataKeys.zipped] !== null;
}

/** Whether the Secret has this data. */
export function isKept(raw: unknown, data: KeptListData): boolean {
  const stored = recordAt(raw, "data");
  return Object.values(dataKeys).every((key) => (stringAt(stored, key) ?? null) === data[key]);
}

/** The seq of the newest list of this issuer in the Secret; undefined if there is none. */
export function keptSeq(raw: unknown, issuer: string): RevocationSeq | undefined {
  const facts = factsIn(raw);
  return stringAt(facts, "issuer") === issuer
    ? parseRevocationSeq(stringAt(facts, "seq") ?? "")
    : undefined;
}

/**
 * Reads the list of this issuer from the Secret; undefined if there is none. `now` in milliseconds
 * since the epoch.
 */
export async function readKeptList(
  raw: unknown,
  { issuer, now }: { readonly issuer: string; readonly now: number },
): Promise<KeptList | undefined> {
  const seq = keptSeq(raw, issuer);
  if (seq === undefined) return undefined;
  const text = await textIn(recordAt(raw, "data"));
  const facts = Buffer.from(JSON.stringify(factsIn(raw)));
  const parsed = parseVerificationKeys(facts);
  if (text === undefined || !parsed.ok) return { seq, list: undefined };
  const verified = await verifyRevokedList(text, { keys: parsed.keys, issuer, now });
  const isOfSeq = verified.ok && revocationSeqText(verified.list.seq) === revocationSeqText(seq);
  return { seq, list: isOfSeq ? verified.list : undefined };
}

function factsIn(raw: unknown): unknown {
  const encoded = stringAt(recordAt(raw, "data"), dataKeys.facts);
  return encoded === undefined ? undefined : strictJson(Buffer.from(encoded, "base64"));
}

async function textIn(data: unknown): Promise<string | undefined> {
  const [plain, zipped] = [stringAt(data, dataKeys.plain), stringAt(data, dataKeys.zipped)];
  if (plain !== undefined) return Buffer.from(plain, "base64").toString("latin1");
  if (zipped === undefined) return undefined;
  return (await decompressed(Buffer.from(zipped, "base64")))?.toString("latin1");
}

function compressed(text: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    gzip(text, (error, bytes) => (error === null ? resolve(bytes) : reject(error)));
  });
}

/** Undefined for bytes that are not gzip, or are more than a list may have. */
function decompressed(bytes: Buffer): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    gunzip(bytes, { maxOutputLength: mostListBytes }, (error, text) =>
      resolve(error === null ? text : undefined),
    );
  });
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
