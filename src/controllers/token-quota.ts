import type { EndpointToken } from "../api/endpoint-token.ts";
import { requesterAnnotationsOf } from "../api/requester.ts";
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
 * Counts the valid tokens of each requester, in the memory of the leader. A deleted token is valid
 * until its expiry, and counts until then; a new leader only knows the tokens whose objects exist.
 */
export class TokenQuota {
  readonly #config: TokenQuotaConfig;
  /** The expiry of tokens, by requester and uid. */
  readonly #ends = new Map<string, Map<string, number>>();
  #sweepAt = 0;

  constructor(config: TokenQuotaConfig) {
    this.#config = config;
  }

  /** Counts a token that is already in the status of its object, regardless of the quota. */
  note({
    metadata,
    token,
    expiresAt,
  }: Pick<EndpointToken, "metadata" | "token" | "expiresAt">): void {
    const [requester, endsAt] = [requesterAnnotationsOf(metadata)?.name, instantOf(expiresAt)];
    if (token !== undefined && requester !== undefined && endsAt !== undefined)
      this.#count({ requester, uid: metadata.uid, endsAt });
  }

  /**
   * Whether a token may be minted at `now`, in milliseconds since the epoch; if so, it counts from
   * then on.
   */
  take(token: CountedToken, now: number): boolean {
    const { requester, uid } = token;
    if (now >= this.#sweepAt) this.#sweep(now);
    const ends = this.#ends.get(requester);
    if (ends !== undefined && ends.size >= this.#config.quotaTokens)
      this.#forgetEnded(requester, ends, now);
    if (ends !== undefined && ends.size >= this.#config.quotaTokens && !ends.has(uid)) return false;
    this.#count(token);
    return true;
  }

  /**
   * The earliest expiry of a requester's tokens, in milliseconds since the epoch; Infinity without
   * tokens.
   */
  nextEnd(requester: string): number {
    let next = Infinity;
    for (const endsAt of this.#ends.get(requester)?.values() ?? []) next = Math.min(next, endsAt);
    return next;
  }

  #count({ requester, uid, endsAt }: CountedToken): void {
    if (this.#config.quotaExempt.includes(requester)) return;
    const ends = this.#ends.get(requester) ?? new Map<string, number>();
    this.#ends.set(requester, ends);
    ends.set(uid, Math.max(endsAt, ends.get(uid) ?? 0));
  }

  #sweep(now: number): void {
    this.#sweepAt = now + sweepMs;
    for (const [requester, ends] of this.#ends) this.#forgetEnded(requester, ends, now);
  }

  #forgetEnded(requester: string, ends: Map<string, number>, now: number): void {
    for (const [uid, endsAt] of ends) {
      if (now >= endsAt) ends.delete(uid);
    }
    if (ends.size === 0) this.#ends.delete(requester);
  }
}
