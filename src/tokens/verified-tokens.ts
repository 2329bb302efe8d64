import { readingBounds } from "../api/reading-bounds.ts";
import type { SecretText } from "../api/secret-text.ts";
import type { VerificationKeys } from "./compact-jws.ts";
import {
  type TokenOrigin,
  type TokenVerification,
  type VerifiedToken,
  verifyDirectToken,
} from "./direct-token.ts";
import { cacheLimits, RecentTokens } from "./recent-tokens.ts";

interface Entry {
  readonly token: VerifiedToken;
  readonly kid: string;
}

/**
 * Verifies direct tokens and keeps the results, as {@link RecentTokens} does, without those of a
 * key that is removed. It does not know the deny list, which the caller asks each time.
 */
export class VerifiedTokens {
  readonly #origin: TokenOrigin;
  readonly #recent: RecentTokens<Entry>;
  #keys: VerificationKeys;

  constructor(keys: VerificationKeys, origin: TokenOrigin, limits = cacheLimits) {
    this.#keys = keys;
    this.#origin = origin;
    this.#recent = new RecentTokens(limits);
  }

  /** Number of tokens in the cache. */
  get size(): number {
    return this.#recent.size;
  }

  /** Replaces the keys, and drops the tokens of keys that are not among them. */
  replaceKeys(keys: VerificationKeys): void {
    this.#keys = keys;
    this.#recent.forgetAll(({ kid }) => !keys.has(kid));
  }

  /** Verifies a token like {@link verifyDirectToken}; `now` in milliseconds since the epoch. */
  async verify(token: SecretText, now: number): Promise<TokenVerification> {
    if (token.length > readingBounds.token.bytes) return { ok: false, reason: "oversized" };
    const known = this.#recent.get(token);
    if (known !== undefined) {
      if (known.token.expiresAt > now) return { ok: true, ...known };
      this.#recent.forget(token);
      return { ok: false, reason: "expired" };
    }
    const result = await verifyDirectToken(token, { ...this.#origin, keys: this.#keys, now });
    if (!result.ok) return result;
    // The keys may have been replaced meanwhile.
    if (!this.#keys.has(result.kid)) return { ok: false, reason: "unknown-kid" };
    const { expiresAt } = result.token;
    this.#recent.keep(token, { token: result.token, kid: result.kid }, { expiresAt, now });
    return result;
  }
}
