import { group } from "../../api/names.ts";
import type { OwnedAccessKeySpec } from "../../api/owned-access-key.ts";
import { isSystemName } from "../requester/requester.ts";

/** The prefixes of user and team names in RBAC and in the identity of a key. */
export interface Prefixes {
  readonly user: string;
  readonly team: string;
}

/**
 * The user that a key acts as, in the terms of a TokenReview, or why it has none; the message names
 * the fields to change.
 */
type KeyIdentity =
  | { readonly kind: "valid"; readonly username: string; readonly groups: readonly string[] }
  | {
      readonly kind: "invalid";
      readonly reason: "MissingSubject" | "UnsupportedSubject";
      readonly message: string;
    };

/**
 * The identity of a key (specification, OwnedAccessKey): its user; its team, as a separate user in
 * the group of the team; or its subject, verbatim. Names that begin with `system:` are reserved for
 * Kubernetes.
 */
export function identityOf(
  { user, team, subject, groups }: OwnedAccessKeySpec,
  prefixes: Prefixes,
): KeyIdentity {
  const username =
    user !== undefined ? prefixes.user + user : team !== undefined ? teamUsername(team) : subject;
  if (username === undefined) {
    return {
      kind: "invalid",
      reason: "MissingSubject",
      message: "None of spec.user, spec.team and spec.subject is set. Set one of them.",
    };
  }
  const all = [...new Set([...groups, ...(team === undefined ? [] : [prefixes.team + team])])];
  const system = [username, ...all].find(isSystemName);
  if (system === undefined) return { kind: "valid", username, groups: all };
  const message =
    `A key must not act as ${JSON.stringify(system)}: names that begin with "system:" are ` +
    "reserved for Kubernetes. Name another user, team, subject or group.";
  return { kind: "invalid", reason: "UnsupportedSubject", message };
}

/** The username of the keys of a team. */
export function teamUsername(team: string): string {
  return `${group}:team:${team}`;
}
