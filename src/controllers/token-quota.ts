import type { EndpointToken } from "../api/endpoint-token.ts";
import { requesterAnnotationsOf } from "../api/requester.ts";
import type { RevokedEntry } from "../domain/endpoint-token/revocation.ts";
import { requesterHash } from "../domain/grants/granted-names.ts";
import { instantOf } from "../domain/lifetime.ts";
import type { TokenQuotaConfig, TokenQuotaMemory } from "./memory.ts";

/** A token that counts until it expires, in milliseconds since the epoch. */
export interface CountedToken {
  readonly requester: string;
  readonly uid: string;
  readonly endsAt: number;
}

/** Where tokens are counted. */
interface TokenQuotaContext {
  readonly memory: { readonly tokenQuota: TokenQuotaMemory };
  readonly options: Pick<TokenQuotaConfig, "quotaTokens">;
}

const sweepMs = 3_600_000;

/** Counts the tokens of the list of revoked tokens, regardless of the quota. */
export function countRevokedTokens(
  entries: ReadonlyMap<string, RevokedEntry>,
  context: Pick<TokenQuotaContext, "memory">,
): void {
  for (const [uid, { requester, expiresAt: endsAt }] of entries)
    if (requester !== "") count(requester, { uid, endsAt }, context);
}

/** Counts a token that is already in the status of its object, regardless of the quota. */
export function countMintedToken(
  { metadata, token, expiresAt }: Pick<EndpointToken, "metadata" | "token" | "expiresAt">,
  context: Pick<TokenQuotaContext, "memory">,
): void {
  const [requester, endsAt] = [requesterAnnotationsOf(metadata)?.name, instantOf(expiresAt)];
  if (token !== undefined && requester !== undefined && endsAt !== undefined)
    count(requesterHash(requester), { uid: metadata.uid, endsAt }, context);
}

/**
 * Whether a token may be minted at `now`, in milliseconds since the epoch; if so, it counts from
 * then on.
 */
export function takeTokenQuota(
  token: CountedToken,
  now: number,
  context: TokenQuotaContext,
): boolean {
  const { tokenQuota } = context.memory;
  const hash = requesterHash(token.requester);
  if (now >= tokenQuota.sweepAt) sweep(tokenQuota, now);
  const ends = tokenQuota.ends.get(hash);
  const isFull = (): boolean =>
    ends !== undefined && ends.size >= context.options.quotaTokens && !ends.has(token.uid);
  if (ends !== undefined && isFull()) forgetEnded(hash, tokenQuota, now);
  if (isFull()) return false;
  count(hash, token, context);
  return true;
}

/**
 * The earliest expiry of a requester's tokens, in milliseconds since the epoch; Infinity without
 * tokens.
 */
export function nextTokenEnd(
  requester: string,
  { memory }: Pick<TokenQuotaContext, "memory">,
): number {
  let next = Infinity;
  const ends = memory.tokenQuota.ends.get(requesterHash(requester));
  for (const endsAt of ends?.values() ?? []) next = Math.min(next, endsAt);
  return next;
}

function count(
  hash: string,
  { uid, endsAt }: Omit<CountedToken, "requester">,
  { memory }: Pick<TokenQuotaContext, "memory">,
): void {
  const { ends: all, exempt } = memory.tokenQuota;
  if (exempt.has(hash)) return;
  const ends = all.get(hash) ?? new Map<string, number>();
  all.set(hash, ends);
  ends.set(uid, Math.max(endsAt, ends.get(uid) ?? 0));
}

function sweep(quota: TokenQuotaMemory, now: number): void {
  quota.sweepAt = now + sweepMs;
  for (const hash of quota.ends.keys()) forgetEnded(hash, quota, now);
}

function forgetEnded(hash: string, { ends: all }: TokenQuotaMemory, now: number): void {
  const ends = all.get(hash);
  for (const [uid, endsAt] of ends ?? []) {
    if (now >= endsAt) ends?.delete(uid);
  }
  if (ends?.size === 0) all.delete(hash);
}
