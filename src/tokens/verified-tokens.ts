import { createHash } from "node:crypto";
import { readingBounds } from "../api/reading-bounds.ts";
import { SecretText } from "../api/secret-text.ts";
import type { VerificationKeys } from "./compact-jws.ts";
import {
  type TokenOrigin,
  type TokenVerification,
  type VerifiedToken,
  verifyDirectToken,
} from "./direct-token.ts";

/** Bounds of the cache. */
interface CacheLimits {
  readonly tokens: number;
  /** Of all tokens: the parsed scopes take more memory than the text of a token. */
  readonly characters: number;
}

/** 10,000 tokens without scopes have some 5 million characters. */
export const cacheLimits: CacheLimits = { tokens: 10_000, characters: 8 * 1024 * 1024 };

const sweepMs = 60_000;

interface Entry {
  readonly token: VerifiedToken;
  readonly kid: string;
  readonly characters: number;
}

/**
 * Verifies direct tokens and keeps the results by the SHA-256 of the token, never the token. Evicts
 * the least recently used token; drops tokens at `exp`, and those of a key that is removed. It does
 * not know the deny list, which the caller asks each time.
 *
 * Refused tokens are not kept: anybody can send any number of them and would evict the others, and
 * a token with an unknown kid is valid as soon as the key is known.
 */
export class VerifiedTokens {
  readonly #origin: TokenOrigin;
  readonly #limits: CacheLimits;
  readonly #entries = new Map<string, Entry>();
  #keys: VerificationKeys;
  #characters = 0;
  #sweptAt = -Infinity;

  constructor(keys: VerificationKeys, origin: TokenOrigin, limits = cacheLimits) {
    this.#keys = keys;
    this.#origin = origin;
    this.#limits = limits;
  }

  /** Number of tokens in the cache. */
  get size(): number {
    return this.#entries.size;
  }

  /** Replaces the keys, and drops the tokens of keys that are not among them. */
  replaceKeys(keys: VerificationKeys): void {
    this.#keys = keys;
    for (const [digest, { kid }] of this.#entries) if (!keys.has(kid)) this.#drop(digest);
  }

  /** Verifies a token like {@link verifyDirectToken}; `now` in milliseconds since the epoch. */
  async verify(token: SecretText, now: number): Promise<TokenVerification> {
    if (token.length > readingBounds.token.bytes) return { ok: false, reason: "oversized" };
    const digest = digestOf(token);
    const known = this.#entries.get(digest);
    if (known !== undefined) {
      this.#drop(digest);
      if (known.token.expiresAt <= now) return { ok: false, reason: "expired" };
      this.#keep(digest, known);
      return { ok: true, token: known.token, kid: known.kid };
    }
    const result = await verifyDirectToken(token, { ...this.#origin, keys: this.#keys, now });
    if (!result.ok) return result;
    // The keys may have been replaced meanwhile.
    if (!this.#keys.has(result.kid)) return { ok: false, reason: "unknown-kid" };
    this.#drop(digest);
    this.#keep(digest, { token: result.token, kid: result.kid, characters: token.length });
    this.#sweep(now);
    return result;
  }

  #keep(digest: string, entry: Entry): void {
    this.#entries.set(digest, entry);
    this.#characters += entry.characters;
    const { tokens, characters } = this.#limits;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= tokens && this.#characters <= characters) return;
      this.#drop(oldest);
    }
  }

  #drop(digest: string): void {
    this.#characters -= this.#entries.get(digest)?.characters ?? 0;
    this.#entries.delete(digest);
  }

  #sweep(now: number): void {
    if (now < this.#sweptAt + sweepMs) return;
    this.#sweptAt = now;
    for (const [digest, { token }] of this.#entries) if (token.expiresAt <= now) this.#drop(digest);
  }
}

function digestOf(token: SecretText): string {
  return createHash("sha256").update(SecretText.reveal(token), "utf8").digest("base64url");
}
