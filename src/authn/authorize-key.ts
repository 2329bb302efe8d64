import type { ReviewedRequest } from "../api/access-review.ts";
import { authorizeWithKey, type KeyVerdict } from "../domain/access-key/key-authorization.ts";
import { isScoped, type ResolvedKey } from "../domain/access-key/key-state.ts";
import type { ScopedRequest } from "../domain/scope/request.ts";
import type { Discovery } from "../kube/discovery.ts";
import { isKubeError } from "../kube/errors.ts";
import type { Clock } from "../runtime/clock.ts";
import type { AccessKeyCache } from "./access-key-cache.ts";
import { scopedRequest } from "./scoped-request.ts";

/** Why a request is neither denied nor passed on: what decides is not known yet. */
export type NotReady = { readonly kind: "not-ready"; readonly reason: string };

/** The decision about a request with a key; `resolved` is the key, unless it was deleted. */
export type KeyDecision = (KeyVerdict | NotReady) & { readonly resolved?: ResolvedKey | undefined };

/** What {@link authorizeKey} needs. */
export interface AuthorizeKeyDeps {
  readonly accessKeys: Pick<AccessKeyCache, "byId" | "isFresh" | "locationOf" | "roles">;
  readonly discovery: Pick<Discovery, "known" | "find">;
  readonly clock: Pick<Clock, "now">;
  /** Aborts when the caller leaves. */
  readonly left?: AbortSignal | undefined;
}

/** Why nothing is decided while the cache of access keys is out of date. */
export const notSyncedMessage = "access key cache not synced; retry";

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
  const { accessKeys, discovery, clock, left } = deps;
  if (!accessKeys.isFresh()) return { kind: "not-ready", reason: notSyncedMessage };
  let resolved = accessKeys.byId(keyId);
  let scoped: ScopedRequest | Promise<ScopedRequest> = scopedRequest(request, {
    accessKeys,
    discovery,
    left,
    isScoped: resolved !== undefined && isScoped(resolved),
  });
  if (scoped instanceof Promise) {
    try {
      scoped = await scoped;
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return { kind: "not-ready", reason: "API discovery failed; retry" };
    }
    if (!accessKeys.isFresh()) return { kind: "not-ready", reason: notSyncedMessage };
    // The key may have changed meanwhile.
    resolved = accessKeys.byId(keyId);
  }
  const verdict = authorizeWithKey(
    resolved,
    { request: scoped, roles: accessKeys.roles() },
    clock.now(),
  );
  return { ...verdict, resolved };
}

/**
 * The same by what is known at this moment: a resource that discovery does not know is one that the
 * API server does not serve.
 */
export function authorizeNow(
  keyId: string,
  request: ReviewedRequest,
  { accessKeys, discovery, clock }: AuthorizeKeyDeps,
): KeyDecision {
  if (!accessKeys.isFresh()) return { kind: "not-ready", reason: notSyncedMessage };
  const resolved = accessKeys.byId(keyId);
  // Without a scope, the resource decides nothing; a promise is not started in any case.
  const scoped = scopedRequest(request, { accessKeys, discovery, isScoped: false });
  if (scoped instanceof Promise)
    return { kind: "not-ready", reason: "API discovery failed; retry" };
  const verdict = authorizeWithKey(
    resolved,
    { request: scoped, roles: accessKeys.roles() },
    clock.now(),
  );
  return { ...verdict, resolved };
}
