import type { EndpointToken } from "../api/endpoint-token.ts";
import { requesterAnnotationsOf } from "../api/requester.ts";
import type { RevokedEntry } from "../domain/endpoint-token/revocation.ts";
import { requesterHash } from "../domain/grants/granted-names.ts";
import { instantOf } from "../domain/lifetime.ts";

/** The quota of valid tokens for each requester. */
export interface TokenQuotaConfig {
  /** Maximum number of valid tokens of each requester. */
  readonly quotaTokens: number;
  /** Usernames whose tokens are not counted. */
  readonly quotaExempt: readonly string[];
}

/** A token that counts until it expires, in milliseconds since the epoch. */
export interface CountedToken {
  readonly requester: string;
  readonly uid: string;
  readonly endsAt: number;
}

const sweepMs = 3_600_000;

/**
 * Counts the tokens of each requester that have not expired, in the memory of the leader. A deleted
 * token counts until its expiry, which bounds the list of revoked tokens; a new leader knows it from
 * there.
 */
export class TokenQuota {
  readonly #quota: number;
  /** The hashes of the requesters that are not counted. */
  readonly #exempt: ReadonlySet<string>;
  /** The expiry of tokens, by the hash of their requester and their uid. */
  readonly #ends = new Map<string, Map<string, number>>();
  #sweepAt = 0;

  constructor({ quotaTokens, quotaExempt }: TokenQuotaConfig) {
    this.#quota = quotaTokens;
    this.#exempt = new Set(quotaExempt.map(requesterHash));
  }

  /** Counts the tokens of the list of revoked tokens, regardless of the quota. */
  noteRevoked(entries: ReadonlyMap<string, RevokedEntry>): void {
    for (const [uid, { requester, expiresAt: endsAt }] of entries)
      if (requester !== "") this.#count(requester, { uid, endsAt });
  }

  /** Counts a token that is already in the status of its object, regardless of the quota. */
  note({
    metadata,
    token,
    expiresAt,
  }: Pick<EndpointToken, "metadata" | "token" | "expiresAt">): void {
    const [requester, endsAt] = [requesterAnnotationsOf(metadata)?.name, instantOf(expiresAt)];
    if (token !== undefined && requester !== undefined && endsAt !== undefined)
      this.#count(requesterHash(requester), { uid: metadata.uid, endsAt });
  }

  /**
   * Whether a token may be minted at `now`, in milliseconds since the epoch; if so, it counts from
   * then on.
   */
  take(token: CountedToken, now: number): boolean {
    const hash = requesterHash(token.requester);
    if (now >= this.#sweepAt) this.#sweep(now);
    const ends = this.#ends.get(hash);
    if (ends !== undefined && ends.size >= this.#quota) this.#forgetEnded(hash, ends, now);
    if (ends !== undefined && ends.size >= this.#quota && !ends.has(token.uid)) return false;
    this.#count(hash, token);
    return true;
  }

  /**
   * The earliest expiry of a requester's tokens, in milliseconds since the epoch; Infinity without
   * tokens.
   */
  nextEnd(requester: string): number {
    let next = Infinity;
    const ends = this.#ends.get(requesterHash(requester));
    for (const endsAt of ends?.values() ?? []) next = Math.min(next, endsAt);
    return next;
  }

  #count(hash: string, { uid, endsAt }: Omit<CountedToken, "requester">): void {
    if (this.#exempt.has(hash)) return;
    const ends = this.#ends.get(hash) ?? new Map<string, number>();
    this.#ends.set(hash, ends);
    ends.set(uid, Math.max(endsAt, ends.get(uid) ?? 0));
  }

  #sweep(now: number): void {
    this.#sweepAt = now + sweepMs;
    for (const [hash, ends] of this.#ends) this.#forgetEnded(hash, ends, now);
  }

  #forgetEnded(hash: string, ends: Map<string, number>, now: number): void {
    for (const [uid, endsAt] of ends) {
      if (now >= endsAt) ends.delete(uid);
    }
    if (ends.size === 0) this.#ends.delete(hash);
  }
}
