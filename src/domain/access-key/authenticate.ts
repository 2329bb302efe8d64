import { soleExtra } from "../../api/access-review.ts";
import { extras } from "../../api/names.ts";
import type { Reason } from "../../api/conditions.ts";
import { identityOf } from "./key-identity.ts";
import { ancestorsOf, effectiveScopes, keyState, type ResolvedKey } from "./key-state.ts";
import { hashName } from "../hash-name.ts";
import { instantOf } from "../lifetime.ts";
import { trustOf } from "../oidc/trusted-tokens.ts";
import { timestamp } from "../plan/conditions.ts";

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
    [extras.scopeHash]: [scopeHash(resolved)],
    [extras.credentialId]: [metadata.uid],
  };
  const user = { username: identity.username, groups: identity.groups, extra };
  users.set(resolved, user);
  return { kind: "authenticated", user };
}

/** A token that was presented in place of a key. */
interface PresentedToken {
  /** What it is called in the audit log. */
  readonly id: string;
  /** In milliseconds since the epoch. */
  readonly endsAt: number;
}

/** The user of a key, as it acts with a token. */
export function withToken(user: UserInfo, { id, endsAt }: PresentedToken): UserInfo {
  const ownExtra = {
    [extras.credentialId]: [id],
    [extras.credentialEnds]: [timestamp(endsAt)],
  };
  return { ...user, extra: { ...user.extra, ...ownExtra } };
}

/**
 * Why a request was made with a token that its key does not accept at `now`, in milliseconds since
 * the epoch, by the extras of its user; undefined for one that it accepts, and for a request that
 * was made with the key itself.
 */
export function tokenProblem(
  resolved: ResolvedKey,
  extra: Readonly<Record<string, unknown>>,
  now: number,
): string | undefined {
  const [ends, hash] = [extras.credentialEnds, extras.scopeHash].map((name) =>
    soleExtra({ extra }, name),
  );
  if (extra[extras.credentialEnds] === undefined)
    return resolved.tokens === undefined ? undefined : "the access key of this request has no key";
  if ((instantOf(ends) ?? 0) <= now) return "the token of this request has expired";
  return hash === scopeHash(resolved)
    ? undefined
    : "the access key of this request accepts other tokens now";
}

/** The users of resolved keys: the hash of all scopes costs more than the rest. */
const users = new WeakMap<ResolvedKey, UserInfo>();

/** A hash that differs for different scopes, and for different tokens that a key trusts. */
function scopeHash(resolved: ResolvedKey): string {
  const limits = effectiveScopes(resolved).map((limit) => JSON.stringify(limit));
  const trusted = ancestorsOf(resolved).flatMap(({ tokens }) => trustOf(tokens));
  return hashName([...limits, ...trusted]);
}
