import { createHash } from "node:crypto";
import { SecretText } from "../api/secret-text.ts";

/** Bounds of what is kept. */
interface CacheLimits {
  readonly tokens: number;
  /** Of all tokens: what was parsed of them takes more memory than their text. */
  readonly characters: number;
}

/** 10,000 tokens without scopes have some 5 million characters. */
export const cacheLimits: CacheLimits = { tokens: 10_000, characters: 8 * 1024 * 1024 };

const sweepMs = 60_000;

interface KeptAt {
  readonly expiresAt: number;
  readonly now: number;
}

interface Entry<T> {
  readonly value: T;
  readonly expiresAt: number;
  readonly characters: number;
}

/**
 * What was found out about tokens, by the SHA-256 of the token, never the token. Evicts the least
 * recently used one, and drops those that have expired. What was refused does not belong in it:
 * anybody can send any number of such tokens and would evict the others.
 */
export class RecentTokens<T> {
  readonly #limits: CacheLimits;
  readonly #entries = new Map<string, Entry<T>>();
  #characters = 0;
  #sweptAt = -Infinity;

  constructor(limits = cacheLimits) {
    this.#limits = limits;
  }

  /** Number of tokens. */
  get size(): number {
    return this.#entries.size;
  }

  /** What is known of a token, expired or not. */
  get(token: SecretText): T | undefined {
    const digest = digestOf(token);
    const known = this.#entries.get(digest);
    if (known === undefined) return undefined;
    this.#entries.delete(digest);
    this.#entries.set(digest, known);
    return known.value;
  }

  /** Keeps what is known of a token until `expiresAt`; both in milliseconds since the epoch. */
  keep(token: SecretText, value: T, { expiresAt, now }: KeptAt): void {
    const digest = digestOf(token);
    this.#drop(digest);
    const characters = token.length;
    this.#entries.set(digest, { value, expiresAt, characters });
    this.#characters += characters;
    this.#evict();
    this.#sweep(now);
  }

  /** Forgets a token. */
  forget(token: SecretText): void {
    this.#drop(digestOf(token));
  }

  /** Forgets those of which this is true. */
  forgetAll(isOver: (value: T) => boolean): void {
    for (const [digest, { value }] of this.#entries) if (isOver(value)) this.#drop(digest);
  }

  #evict(): void {
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
    for (const [digest, { expiresAt }] of this.#entries) if (expiresAt <= now) this.#drop(digest);
  }
}

function digestOf(token: SecretText): string {
  return createHash("sha256").update(SecretText.reveal(token), "utf8").digest("base64url");
}
