import { extras } from "../../api/names.ts";
import type { Reason } from "../../api/conditions.ts";
import type { ScopeLimit } from "../../api/scope.ts";
import { identityOf } from "./key-identity.ts";
import { keyState, type ResolvedKey, effectiveScopes } from "./key-state.ts";
import { hashName } from "../hash-name.ts";

/** The user of a request (Kubernetes API reference, authentication.k8s.io/v1 UserInfo). */
export interface UserInfo {
  readonly username: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/**
 * The result of authentication with a key; the reason is for metrics and is never sent to the
 * client.
 */
type Authentication =
  | { readonly kind: "authenticated"; readonly user: UserInfo }
  | { readonly kind: "refused"; readonly reason: Reason | "Deleted" };

/**
 * Authenticates a key at `now`, in milliseconds since the epoch: the status, which may lag behind,
 * does not count.
 */
export function authenticate(resolved: ResolvedKey, now: number): Authentication {
  const { metadata, spec } = resolved.key;
  if (metadata.deletionTimestamp !== undefined) return { kind: "refused", reason: "Deleted" };
  const { reason } = keyState(resolved, now);
  if (reason !== "Active") return { kind: "refused", reason };
  const known = users.get(resolved);
  if (known !== undefined) return { kind: "authenticated", user: known };
  const identity = identityOf(spec, resolved.config.prefixes);
  if (identity.kind === "invalid") return { kind: "refused", reason: identity.reason };
  const extra = {
    [extras.keyId]: [metadata.uid],
    [extras.scopeHash]: [scopeHash(effectiveScopes(resolved))],
    [extras.credentialId]: [metadata.uid],
  };
  const user = { username: identity.username, groups: identity.groups, extra };
  users.set(resolved, user);
  return { kind: "authenticated", user };
}

/** The users of resolved keys: the hash of all scopes costs more than the rest. */
const users = new WeakMap<ResolvedKey, UserInfo>();

/** A hash that differs for different scopes. */
function scopeHash(limits: readonly ScopeLimit[]): string {
  return hashName(limits.map((limit) => JSON.stringify(limit)));
}
