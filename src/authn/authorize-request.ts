import type { ReviewedRequest } from "../api/access-review.ts";
import type { ResourceScope } from "../api/discovery.ts";
import type { ScopeLimit } from "../api/scope.ts";
import { authorizeWithKey, type KeyVerdict } from "../domain/access-key/key-authorization.ts";
import { isScoped, type ResolvedKey } from "../domain/access-key/key-state.ts";
import {
  authorizeWithToken,
  type Revocation,
  type TokenVerdict,
} from "../domain/endpoint-token/token-authorization.ts";
import {
  authorizationOnlyScope,
  locatedRequest,
  sentRequest,
} from "../domain/scope/authorization-only.ts";
import type { ScopeRoles } from "../domain/scope/scope-roles.ts";
import type { RequestLocation, ScopedRequest } from "../domain/scope/scoped-request.ts";
import { type Discovery, groupUnavailable } from "../kube/client/discovery.ts";
import { isKubeError, type KubeError } from "../kube/client/kube-error.ts";
import type { Clock, Leaving } from "../runtime/clock.ts";
import type { AccessKeyCache } from "./access-key-cache.ts";
import type { RequestLocations } from "./request-locations.ts";

/** Why a request is neither denied nor passed on: what decides is not known yet. */
export type NotReady = { readonly kind: "not-ready"; readonly reason: string };

/** Why nothing is decided while the cache of access keys is out of date. */
export const notSyncedMessage = "access key cache not synced; retry";

const notSynced: NotReady = { kind: "not-ready", reason: notSyncedMessage };

/** Why nothing is decided about a resource that discovery does not know, by the error if any. */
export function notDiscovered(error?: KubeError): NotReady {
  const isKnownGroup = error?.reason === groupUnavailable;
  return {
    kind: "not-ready",
    reason: isKnownGroup ? error.explanation : "API discovery failed; retry",
  };
}

/** Looks up resources, with and without waiting for a refresh. */
type ResourceLookup = Pick<Discovery, "known" | "find">;

/** Lookups for the location and the resource of a request. */
export interface ScopedRequestDeps {
  readonly locationOf: AccessKeyCache["locationOf"];
  readonly discovery: ResourceLookup;
  /** Whether the key has a scope: without one, no API discovery is required. */
  readonly isScoped: boolean;
  /** Ends the wait for discovery. */
  readonly left?: Leaving | undefined;
}

/**
 * Resolves a request to the central cluster for a scope check. Returns a promise only if discovery
 * has not cached the resource: it waits for one refresh, and rejects with a KubeError if that
 * fails, and with the reason of `left` if the caller leaves.
 */
export function scopedRequest(
  request: ReviewedRequest,
  { locationOf, discovery, isScoped: needsResource, left }: ScopedRequestDeps,
): ScopedRequest | Promise<ScopedRequest> {
  if (request.kind === "path") return locatedRequest(request, locationOf(""), undefined);
  const { group, resource } = request;
  const within = (resourceScope?: ResourceScope): ScopedRequest => {
    const sent = sentRequest(request, resourceScope);
    return locatedRequest(
      sent,
      locationOf(sent.kind === "path" ? "" : sent.namespace),
      resourceScope,
    );
  };
  const known = discovery.known(group, resource) ?? authorizationOnlyScope(group, resource);
  if (known !== undefined || !needsResource) return within(known);
  return discovery.find(group, resource, left?.signal).then(within);
}

/** The decision about a request with a key; `resolved` is the key, unless it was deleted. */
export type KeyDecision = (KeyVerdict | NotReady) & { readonly resolved?: ResolvedKey | undefined };

/** What {@link authorizeKey} needs. */
export interface AuthorizeKeyDeps {
  readonly accessKeys: Pick<AccessKeyCache, "byId" | "isFresh" | "locationOf" | "roles">;
  readonly discovery: ResourceLookup;
  readonly clock: Clock;
  /** Aborts when the caller leaves. */
  readonly left?: Leaving | undefined;
}

/**
 * Authorizes a request by the key whose object has the uid `keyId`, in its state of now. A resource
 * that discovery does not know yet waits for one refresh; rejects with the reason of `left` if the
 * caller leaves meanwhile.
 */
export async function authorizeKey(
  keyId: string,
  request: ReviewedRequest,
  deps: AuthorizeKeyDeps,
): Promise<KeyDecision> {
  const { accessKeys } = deps;
  if (!accessKeys.isFresh()) return notSynced;
  const resolved = accessKeys.byId(keyId);
  const scoped = requestOf(request, deps, resolved !== undefined && isScoped(resolved));
  if (!(scoped instanceof Promise)) return decisionOf(resolved, scoped, deps);
  try {
    const found = await scoped;
    // The cache and the key may have changed meanwhile.
    return accessKeys.isFresh() ? decisionOf(accessKeys.byId(keyId), found, deps) : notSynced;
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return notDiscovered(error);
  }
}

/**
 * The same by what is known at this moment: a resource that discovery does not know is one that the
 * API server does not serve.
 */
export function authorizeNow(
  keyId: string,
  request: ReviewedRequest,
  deps: AuthorizeKeyDeps,
): KeyDecision {
  const { accessKeys } = deps;
  if (!accessKeys.isFresh()) return notSynced;
  // Without a scope, the resource decides nothing; a promise is not started in any case.
  const scoped = requestOf(request, deps, false);
  return scoped instanceof Promise
    ? notDiscovered()
    : decisionOf(accessKeys.byId(keyId), scoped, deps);
}

function requestOf(
  request: ReviewedRequest,
  { accessKeys, discovery, left }: AuthorizeKeyDeps,
  needsResource: boolean,
): ScopedRequest | Promise<ScopedRequest> {
  const locationOf = (namespace: string): RequestLocation => accessKeys.locationOf(namespace);
  return scopedRequest(request, { locationOf, discovery, isScoped: needsResource, left });
}

function decisionOf(
  resolved: ResolvedKey | undefined,
  request: ScopedRequest,
  { accessKeys, clock }: AuthorizeKeyDeps,
): KeyDecision {
  const roles = accessKeys.roles();
  return { ...authorizeWithKey(resolved, { request, roles }, clock.now()), resolved };
}

/** A direct token that somebody else has verified. */
export interface PresentedToken {
  readonly jti: string;
  readonly scopes: readonly ScopeLimit[];
}

/** What is known of the tokens that are revoked. */
interface RevokedTokens {
  has(jti: string): boolean;
  /** Whether it is known which tokens are revoked. */
  isKnown(): boolean;
}

/** What the issuer says that roles of scopes mean. */
interface PublishedRoles {
  current(): ScopeRoles;
}

/** What {@link authorizeToken} needs. */
export interface AuthorizeTokenDeps {
  readonly revoked: RevokedTokens;
  readonly roles: PublishedRoles;
  readonly discovery: ResourceLookup;
  readonly locations: RequestLocations;
  /** Latchkey's own namespace. */
  readonly namespace: string;
}

/**
 * Authorizes a request by its direct token, by what is known when it returns. A resource that
 * discovery does not know yet waits for one refresh.
 */
export async function authorizeToken(
  { jti, scopes }: PresentedToken,
  reviewed: ReviewedRequest,
  { revoked, roles, discovery, locations, namespace: ownNamespace }: AuthorizeTokenDeps,
): Promise<TokenVerdict> {
  try {
    await locations.decided(scopes);
    const request = await scopedRequest(reviewed, {
      locationOf: (namespace) => locations.locationOf(namespace),
      discovery,
      isScoped: scopes.length > 0,
    });
    const revocation = revocationOf(jti, revoked);
    const verdict = authorizeWithToken(
      { scopes, revocation },
      { request, roles: roles.current(), ownNamespace },
    );
    return withLabels(verdict, scopes, locations);
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return notDiscovered(error);
  }
}

/** A decision with what is not known about the namespaces, if it is a denial by these scopes. */
export function withLabels<Verdict extends KeyVerdict | TokenVerdict>(
  verdict: Verdict,
  scopes: readonly ScopeLimit[],
  locations: RequestLocations,
): Verdict {
  return verdict.kind === "denied" && verdict.by === "scope"
    ? { ...verdict, reason: locations.denialOf(verdict.reason, scopes) }
    : verdict;
}

/** Whether the token with this jti is revoked, by what is known now. */
export function revocationOf(jti: string, revoked: RevokedTokens): Revocation {
  if (revoked.has(jti)) return "revoked";
  return revoked.isKnown() ? "valid" : "unknown";
}
