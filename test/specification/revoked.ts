import type { Raw } from "./raw.ts";
import { objectsOf, type Stored } from "./stored.ts";

/* The list of revoked tokens, from docs/operations.md. Calls no code of src. */

/** Whether the token of an object with this uid is on the list of revoked tokens. */
export function isRevoked(uid: string, server: Stored): boolean {
  return objectsOf(server, "configmaps").some(({ data }) => data?.[uid] !== undefined);
}

/** A token that works is on the list before its object goes. */
export function revocationProblems(token: Raw, after: Stored): readonly string[] {
  const { expiresAt } = token.status ?? {};
  const isOver = expiresAt === undefined || Date.parse(expiresAt) <= after.now;
  const isListed = isRevoked(token.metadata.uid, after);
  return isOver || isListed ? [] : ["goes before its token is revoked"];
}
