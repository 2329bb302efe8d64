import type { EndpointToken } from "../api/endpoint-token.ts";
import { requesterAnnotationsOf } from "../api/requester.ts";
import type { RevokedEntry } from "../domain/endpoint-token/revocation.ts";
import { requesterHash } from "../domain/grants/granted-names.ts";
import { instantOf } from "../domain/lifetime.ts";
import type { TokenQuotaMemory } from "./memory.ts";
import type { World } from "./world.ts";

/** A token that counts until it expires, in milliseconds since the epoch. */
export interface CountedToken {
  readonly requester: string;
  readonly uid: string;
  readonly endsAt: number;
}

type QuotaWorld = Pick<World, "memory" | "options">;

const sweepMs = 3_600_000;

/** Counts the tokens of the list of revoked tokens, regardless of the quota. */
export function countRevokedTokens(
  entries: ReadonlyMap<string, RevokedEntry>,
  world: QuotaWorld,
): void {
  for (const [uid, { requester, expiresAt: endsAt }] of entries)
    if (requester !== "") count(requester, { uid, endsAt }, world);
}

/** Counts a token that is already in the status of its object, regardless of the quota. */
export function countMintedToken(
  { metadata, token, expiresAt }: EndpointToken,
  world: QuotaWorld,
): void {
  const [requester, endsAt] = [requesterAnnotationsOf(metadata)?.name, instantOf(expiresAt)];
  if (token !== undefined && requester !== undefined && endsAt !== undefined)
    count(requesterHash(requester), { uid: metadata.uid, endsAt }, world);
}

/**
 * Whether a token may be minted at `now`, in milliseconds since the epoch; if so, it counts from
 * then on.
 */
export function takeTokenQuota(token: CountedToken, now: number, world: QuotaWorld): boolean {
  const { tokenQuota } = world.memory;
  const hash = requesterHash(token.requester);
  if (now >= tokenQuota.sweepAt) sweep(tokenQuota, now);
  const ends = tokenQuota.ends.get(hash);
  const isFull = (): boolean =>
    ends !== undefined && ends.size >= world.options.quotaTokens && !ends.has(token.uid);
  if (ends !== undefined && isFull()) forgetEnded(hash, tokenQuota, now);
  if (isFull()) return false;
  count(hash, token, world);
  return true;
}

/**
 * The earliest expiry of a requester's tokens, in milliseconds since the epoch; Infinity without
 * tokens.
 */
export function nextTokenEnd(requester: string, { memory }: QuotaWorld): number {
  let next = Infinity;
  const ends = memory.tokenQuota.ends.get(requesterHash(requester));
  for (const endsAt of ends?.values() ?? []) next = Math.min(next, endsAt);
  return next;
}

function count(
  hash: string,
  { uid, endsAt }: Omit<CountedToken, "requester">,
  { memory }: QuotaWorld,
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
