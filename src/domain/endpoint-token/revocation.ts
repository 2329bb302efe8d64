import type { EndpointToken } from "../../api/endpoint-token.ts";
import type { Requester } from "../../api/requester.ts";
import { type WithParentKey, parentInvalidReason } from "../access-key/key-state.ts";
import { requesterHashOf } from "../grants/granted-names.ts";
import { instantOf } from "../lifetime.ts";

/** A revoked token in the stored deny list. */
export interface RevokedEntry {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** The hash of the requester, for its quota; empty if no requester is recorded. */
  readonly requester: string;
}

/**
 * Whether the deny list must have a token. A token without a decision keeps its entry, or has none.
 */
export type RevocationDecision =
  | ({ readonly kind: "revoked" } & RevokedEntry)
  | { readonly kind: "valid" };

/** A token and the access key that it was requested with, see ObservedEndpointToken. */
export interface RevocableToken extends WithParentKey {
  readonly token: EndpointToken;
  readonly requester: Requester;
}

/**
 * Decides about a token at `now`, in milliseconds since the epoch: it is revoked while its object
 * is being deleted or its parent key is not accepted. No decision about a token that was never
 * minted or has expired, nor about one whose parent key is unknown because its requester cannot be
 * verified.
 */
export function revocationDecision(
  { token, requester, parentKey }: RevocableToken,
  now: number,
): RevocationDecision | undefined {
  const entry = revocableEntry(token);
  if (entry === undefined || entry.expiresAt <= now) return undefined;
  if (token.metadata.deletionTimestamp !== undefined) return { kind: "revoked", ...entry };
  if (requester.kind === "unknown") return undefined;
  return parentInvalidReason(parentKey, now) === undefined
    ? { kind: "valid" }
    : { kind: "revoked", ...entry };
}

/** The entry of a token if it is revoked; undefined if it was never minted. */
export function revocableEntry({
  metadata,
  keyId,
  expiresAt: text,
}: RevocableToken["token"]): RevokedEntry | undefined {
  const expiresAt = instantOf(text);
  if (keyId === undefined || expiresAt === undefined) return undefined;
  return { expiresAt, requester: requesterHashOf(metadata)[0] ?? "" };
}
