import { group } from "../../api/names.ts";
import type { OwnedAccessKeyTerms } from "../../api/owned-access-key.ts";
import type { Prefixes } from "../names.ts";
import { isSystemName } from "../requester/requester.ts";

/**
 * The user that a key acts as, in the terms of a TokenReview, or why it has none; the message names
 * the fields to change.
 */
type KeyIdentity =
  | { readonly kind: "somebody"; readonly username: string; readonly groups: readonly string[] }
  | {
      readonly kind: "nobody";
      readonly reason: "MissingSubject" | "UnsupportedSubject";
      readonly message: string;
    };

/**
 * The identity of a key (specification, OwnedAccessKey): its user; its team, as a separate user in
 * the group of the team; or its subject, verbatim. Names that begin with `system:` are reserved for
 * Kubernetes.
 */
export function identityOf(
  { user, team, subject, groups }: OwnedAccessKeyTerms,
  prefixes: Prefixes,
): KeyIdentity {
  const username =
    user !== undefined
      ? prefixes.user + user
      : team !== undefined
        ? `${group}:team:${team}`
        : subject;
  if (username === undefined) {
    return {
      kind: "nobody",
      reason: "MissingSubject",
      message: "None of spec.user, spec.team and spec.subject is set. Set one of them.",
    };
  }
  const all = [...new Set([...groups, ...(team === undefined ? [] : [prefixes.team + team])])];
  const system = [username, ...all].find(isSystemName);
  if (system === undefined) return { kind: "somebody", username, groups: all };
  const message = `A key must not act as ${JSON.stringify(system)}: names that begin with "system:" are reserved for Kubernetes. Name another user, team, subject or group.`;
  return { kind: "nobody", reason: "UnsupportedSubject", message };
}
