import type { EndpointToken } from "../api/endpoint-token.ts";
import {
  revocableEntry,
  type RevocationDecision,
  type RevokedEntry,
} from "../domain/endpoint-token/revocation.ts";
import { isListed, keptAfterExpiryMs } from "../domain/endpoint-token/revoked-tokens.ts";
import type { LeaderState } from "./memory.ts";
import { revokedTokensKey } from "./queues.ts";

/**
 * Records the decision about a token, by jti; enqueues the list if it differs from it. A new leader
 * starts without decisions, and changes no entry before it has decided about the token.
 */
export function noteRevocation(
  jti: string,
  decision: RevocationDecision,
  leader: LeaderState,
): void {
  const { stores, queues } = leader;
  const { revocations } = leader.memory;
  const former = revocations.get(jti);
  const enqueueList = (): void => queues.revokedTokens.add(revokedTokensKey, "high");
  switch (decision.kind) {
    case "revoked":
      revocations.set(jti, decision);
      if (isRevocationPending(jti, leader)) enqueueList();
      return;
    case "valid":
      // A write of the former decision may be in flight.
      if (former === undefined && !isListed(stores.revokedTokens.values(), jti)) return;
      revocations.set(jti, decision);
      if (former?.kind !== "valid") enqueueList();
  }
}

/** Records that an object no longer exists: its token stays revoked until it expires. */
export function noteVanished(token: EndpointToken, leader: LeaderState): void {
  const { uid } = token.metadata;
  const entry = revocableEntry(token);
  if (entry === undefined || entry.expiresAt <= leader.clock.now())
    leader.memory.revocations.delete(uid);
  else noteRevocation(uid, { kind: "revoked", ...entry }, leader);
}

/** Revokes the tokens of a deleted ConfigMap again. */
export function noteLost(entries: ReadonlyMap<string, RevokedEntry>, leader: LeaderState): void {
  for (const [jti, entry] of entries) {
    if (leader.memory.revocations.get(jti)?.kind !== "valid")
      noteRevocation(jti, { kind: "revoked", ...entry }, leader);
  }
}

/** Whether the decision that a token is valid removes an entry of it from the list. */
export function liftsRevocation(jti: string, { memory, stores }: LeaderState): boolean {
  return (
    memory.revocations.get(jti)?.kind !== "valid" && isListed(stores.revokedTokens.values(), jti)
  );
}

/** Whether a token is revoked, but not yet in the stored list. */
export function isRevocationPending(jti: string, { memory, stores, clock }: LeaderState): boolean {
  const decision = memory.revocations.get(jti);
  return (
    decision?.kind === "revoked" &&
    decision.expiresAt > clock.now() &&
    !isListed(stores.revokedTokens.values(), jti, decision.expiresAt)
  );
}

/** The tokens that are revoked, but not yet in the stored list. */
export function pendingRevocations(leader: LeaderState): readonly string[] {
  return [...leader.memory.revocations.keys()].filter((jti) => isRevocationPending(jti, leader));
}

/** Forgets tokens that have expired, and valid ones without an entry; no write is in flight. */
export function forgetExpiredRevocations({ memory, stores, clock }: LeaderState): void {
  const now = clock.now();
  for (const [jti, decision] of memory.revocations) {
    const isDone =
      decision.kind === "revoked"
        ? decision.expiresAt + keptAfterExpiryMs <= now
        : !isListed(stores.revokedTokens.values(), jti);
    if (isDone) memory.revocations.delete(jti);
  }
}
