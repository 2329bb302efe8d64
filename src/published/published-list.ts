import type { SeqOrder } from "../domain/endpoint-token/revocation-seq.ts";
import type { ListVerificationOptions } from "../tokens/signed-list.ts";

/** A list, or why it is refused: one of its {@link PublishedList.refusals}. */
export type ListVerification<T> =
  | { readonly ok: true; readonly list: T }
  | { readonly ok: false; readonly reason: string };

/** Every list says when it was signed, in milliseconds since the epoch. */
export interface Issued {
  readonly issuedAt: number;
}

/** A list that the issuer signs and publishes beside its keys. */
export interface PublishedList<T extends Issued> {
  /** In messages, such as `list of revoked tokens`. */
  readonly noun: string;
  /**
   * The last segment of its URL, and a part of the names of its metrics and of its data keys in the
   * persisted state.
   */
  readonly name: "revoked" | "roles";
  /** As long as it may be; a JWT has one byte a character. */
  readonly mostBytes: number;
  /** What it may take of the persisted state, in characters of base64. */
  readonly mostPersistedCharacters: number;
  readonly verify: (text: string, options: ListVerificationOptions) => Promise<ListVerification<T>>;
  /** Why a list is refused, `oversized` and `older` included; a closed set for metrics. */
  readonly refusals: readonly string[];
  /** What a poll names instead of the list, see {@link isVersion}. */
  readonly versionOf: (list: T) => string;
  readonly isVersion: (text: string) => boolean;
  /** How old a list may be when it arrives, in milliseconds. */
  readonly mostAgeMs: number;
  /** Whether a list replaces the one with the known version. */
  readonly order: (known: string | undefined, list: T) => SeqOrder;
  /** Why a list is refused as too old, or older than the known version, and what to do. */
  readonly olderProblem: (list: T, known: string | undefined) => string;
  /** Number of entries, for the log. */
  readonly sizeOf: (list: T) => number;
}

/** The URL of a list, which is published beside the JWK Set. */
export function listUrl({ name }: { readonly name: string }, jwksUrl: string): string {
  return new URL(name, jwksUrl).href;
}
