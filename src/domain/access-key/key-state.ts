import type { ConditionUpdate, Reason } from "../../api/conditions.ts";
import { annotations, labels, ownObjects } from "../../api/names.ts";
import type { ObservedAccessKey } from "../../api/owned-access-key.ts";
import type { Requester } from "../../api/requester.ts";
import type { ScopeLimit } from "../../api/scope.ts";
import {
  endBeforeCreation,
  endedBy,
  expiringFrom,
  instantOf,
  isOver,
  type Lifetime,
  lifetimeOf,
  lifetimeStart,
  spanText,
} from "../lifetime.ts";
import type { TrustedTokens } from "../oidc/trusted-tokens.ts";
import { stalled, timestamp } from "../plan/conditions.ts";
import { type Duplicate, mostOfOneIndex } from "./duplicate-key.ts";
import { type Prefixes, identityOf } from "./key-identity.ts";

/** An OwnedAccessKey and the state that decides whether it is accepted. */
export interface ResolvedKey extends WithParentKey {
  readonly key: ObservedAccessKey;
  readonly requester: Requester;
  /** Why another object owns the same key, see {@link duplicateOf}; absent if none does. */
  readonly duplicate?: Duplicate | undefined;
  /** What it trusts in place of a key; absent if it has a key, or neither. */
  readonly tokens?: TrustedTokens;
  readonly config: KeyConfig;
}

/** What was requested with an access key, or without one. */
export interface WithParentKey {
  /**
   * The access key that it was requested with, which limits its lifetime and scope; absent if it
   * was requested without one, `gone` if the parent does not exist.
   */
  readonly parentKey?: ResolvedKey | "gone";
}

/** The configuration that decides whether a key is accepted. */
export interface KeyConfig {
  /** Latchkey's own namespace, which scopes protect. */
  readonly namespace: string;
  /** Maximum lifetime in seconds; 0: no limit. */
  readonly maximumKeyTtl: number;
  readonly prefixes: Prefixes;
}

/** The readiness of a key, with reason and message; it is accepted only if the reason is Active. */
interface KeyState {
  readonly ready: boolean;
  readonly reason: Reason;
  readonly message: string;
}

/** The lifetime of a key (specification, Authentication 4); undefined if it does not expire. */
export function keyLifetime(resolved: ResolvedKey): Lifetime | undefined {
  return lifetimeSince(resolved, instantOf(resolved.key.lastActivity));
}

function lifetimeSince(
  { key, config }: ResolvedKey,
  lastUse: number | undefined,
): Lifetime | undefined {
  const startsAt = lifetimeStart(key.metadata);
  const lifetime = lifetimeOf({
    createdAt: startsAt,
    ttl: key.spec.ttl ?? 0,
    idleSince: key.spec.ttlAfterLastActivity ? lastUse : undefined,
    maximumTtl: config.maximumKeyTtl,
  });
  return endedBy(lifetime, endBeforeCreation(key.metadata), startsAt);
}

/** How to make a digest that is not bound a bound one. */
export const bindFix =
  "Set spec.key to the digest that this command prints: kubectl latchkey keys digest " +
  "--user=NAME < KEYFILE";

/** The state of a key at `now`, in milliseconds since the epoch; reports the first problem. */
export function keyState(resolved: ResolvedKey, now: number): KeyState {
  const { spec, keyDigest, isUnbound = false } = resolved.key;
  const lifetime = keyLifetime(resolved);
  if (isOver(lifetime, now))
    return failed(
      "Expired",
      `The key ${endOf(lifetime, now)}. Create another key.${clampOf(resolved, lifetime)}`,
    );
  if (resolved.requester.kind === "unknown")
    return failed("UnknownRequester", resolved.requester.why);
  if (isUnbound)
    return failed(
      "InvalidKey",
      'spec.key looks like a digest, but is not "sha256:" and a digest that is bound to the ' +
        `user, team or subject, so it is never accepted. ${bindFix}.`,
    );
  const refused = keyDigest === undefined ? untrusted(resolved.tokens) : undefined;
  if (refused !== undefined) return refused;
  const identity = identityOf(spec, resolved.config.prefixes);
  if (identity.kind === "invalid") return failed(identity.reason, identity.message);
  if (spec.scope === "unreadable") {
    return failed(
      "InvalidScope",
      "spec.scope is invalid: it contains a value of the wrong type or an unknown field, or " +
        "more than 64 rules, 1000 entries or 65536 characters. Correct spec.scope.",
    );
  }
  if (resolved.duplicate !== undefined)
    return failed("DuplicateKey", duplicateMessage(resolved.duplicate, resolved.requester.name));
  const parentInvalid = parentInvalidReason(resolved.parentKey, now);
  if (parentInvalid !== undefined)
    return failed(
      "ParentKeyInvalid",
      `${parentInvalid}, so this key is rejected too. Create the key again with a valid ` +
        "credential.",
    );
  if (spec.disabled)
    return {
      ready: true,
      reason: "Disabled",
      message: "spec.disabled is true, so the key is rejected.",
    };
  return {
    ready: true,
    reason: "Active",
    // Each request asks for the reason, and only a status for the sentence.
    get message() {
      return `The key is accepted. It ${endOf(lifetime, now)}.${clampOf(resolved, lifetime)}`;
    },
  };
}

/** Why an object without a key has no tokens either; undefined if it has. */
function untrusted(tokens: TrustedTokens | undefined): KeyState | undefined {
  switch (tokens?.kind) {
    case undefined:
      return failed("MissingKey", "spec.key is empty. Set it to a key or to its bound digest.");
    case "invalid":
      return failed(
        "InvalidClaims",
        `metadata.annotations[${tokens.annotation}] ${tokens.problem}. Correct the annotation.`,
      );
    case "unknown-issuer":
      return failed(
        "UnknownIssuer",
        `No issuer of the ConfigMap ${ownObjects.issuers} has the URL ` +
          `${JSON.stringify(tokens.url)}. Correct metadata.annotations[${annotations.issuer}], ` +
          "or ask an administrator to add the issuer.",
      );
    case "trusted":
      return undefined;
  }
}

/**
 * Why the parent key is not accepted, at `now` in milliseconds since the epoch; undefined if it is,
 * or if there is none. Disabling a leaked key thus disables all keys and tokens that were created
 * with it.
 */
export function parentInvalidReason(
  parentKey: ResolvedKey | "gone" | undefined,
  now: number,
): string | undefined {
  if (parentKey === undefined) return undefined;
  if (parentKey === "gone" || parentKey.key.metadata.deletionTimestamp !== undefined)
    return "The parent access key was deleted";
  const { reason } = keyState(parentKey, now);
  return reason === "Active"
    ? undefined
    : `The parent access key "${parentKey.key.metadata.name}" is ${reason}`;
}

/** A key and its ancestors: its parent key, the parent of that, and so on. */
export function ancestorsOf(resolved: ResolvedKey): readonly ResolvedKey[] {
  const { parentKey } = resolved;
  return parentKey === undefined || parentKey === "gone"
    ? [resolved]
    : [resolved, ...ancestorsOf(parentKey)];
}

/**
 * The latest expiry of a key or token that is created with this key at `requestedAt`, in
 * milliseconds since the epoch. The request is a use, so an idle ttl counts from it. Infinity if
 * neither the key nor its ancestors expire.
 */
export function maximumChildExpiry(resolved: ResolvedKey, requestedAt: number): number {
  return Math.min(
    ...ancestorsOf(resolved).map(
      (ancestor) => lifetimeSince(ancestor, requestedAt)?.endsAt ?? Infinity,
    ),
  );
}

/** When a key or one of its ancestors expires; Infinity if none does. */
export function keyEndsAt(resolved: ResolvedKey): number {
  return Math.min(
    ...ancestorsOf(resolved).map((ancestor) => keyLifetime(ancestor)?.endsAt ?? Infinity),
  );
}

/** The scopes that a request with the key must all satisfy: its own and those of its ancestors. */
export function effectiveScopes(resolved: ResolvedKey): readonly ScopeLimit[] {
  return ancestorsOf(resolved).map(({ key }) => key.spec.scope);
}

/** Whether any scope limits a key. */
export function isScoped(resolved: ResolvedKey): boolean {
  return effectiveScopes(resolved).some((limit) => limit !== "none");
}

/**
 * The conditions of a key at `now`, in milliseconds since the epoch; `unknownRoles` are the roles
 * of its scope that do not exist.
 */
export function keyConditions(
  resolved: ResolvedKey,
  { now, unknownRoles }: { readonly now: number; readonly unknownRoles: readonly string[] },
): readonly ConditionUpdate[] {
  const { ready, reason, message } = keyState(resolved, now);
  const readiness = (): readonly ConditionUpdate[] => {
    if (!ready) return stalled(reason, message);
    // Disabled takes precedence over unknown roles.
    const lacksRoles = reason === "Active" && unknownRoles.length > 0;
    return lacksRoles
      ? stalled("InvalidScope", unknownRolesMessage(unknownRoles))
      : [{ type: "Ready", status: "True", reason, message }];
  };
  return [
    ...readiness(),
    { type: "Active", status: reason === "Active" ? "True" : "False", reason, message },
    ...lifetimeConditions(keyLifetime(resolved), now),
  ];
}

function unknownRolesMessage(names: readonly string[]): string {
  const listed = names.map((name) => JSON.stringify(name)).join(", ");
  return (
    `spec.scope.roles: roles that do not exist allow nothing: ${listed}. Set the label ` +
    `${labels.scopeRole} of a ClusterRole to the name of the role, or name another role.`
  );
}

function lifetimeConditions(
  lifetime: Lifetime | undefined,
  now: number,
): readonly ConditionUpdate[] {
  const message = `The key ${endOf(lifetime, now)}.`;
  if (isOver(lifetime, now)) {
    return [
      { type: "Expired", status: "True", reason: "Expired", message },
      { type: "Expiring", status: "False", reason: "Expired", message },
    ];
  }
  const near = now >= (expiringFrom(lifetime) ?? Infinity);
  return [
    { type: "Expired", status: "False", reason: "NotExpired", message },
    {
      type: "Expiring",
      status: near ? "True" : "False",
      reason: near ? "Expiring" : "NotExpiring",
      message,
    },
  ];
}

function duplicateMessage(duplicate: Duplicate, requester: string): string {
  if (duplicate.kind === "duplicate") {
    const older =
      duplicate.by === undefined
        ? "An older OwnedAccessKey of another requester"
        : `The older OwnedAccessKey "${duplicate.by}"`;
    return `${older} has the same key. Set another spec.key.`;
  }
  return (
    `Requester ${JSON.stringify(requester)} has ${mostOfOneIndex} older OwnedAccessKeys whose ` +
    "digests begin with the same 16 digits, which is the limit." +
    " Delete one of them, or set another spec.key."
  );
}

function failed(reason: Reason, message: string): KeyState {
  return { ready: false, reason, message };
}

function endOf(lifetime: Lifetime | undefined, now: number): string {
  if (lifetime === undefined) return "does not expire";
  return `${isOver(lifetime, now) ? "expired" : "expires"} at ${timestamp(lifetime.endsAt)}`;
}

function clampOf({ config }: ResolvedKey, lifetime: Lifetime | undefined): string {
  return lifetime?.clamped === true
    ? ` The configured maximum of ${spanText(config.maximumKeyTtl)} applies.`
    : "";
}
