import type { AccessKeyCache } from "../authn/access-key-cache.ts";
import { notSyncedMessage } from "../authn/authorize-request.ts";
import type { SecondLooks } from "../authn/identify-key.ts";
import { type ReviewedResource, soleExtra } from "../api/access-review.ts";
import type { AdmissionUser } from "../api/admission-review.ts";
import { extras } from "../api/names.ts";
import { authorizeWithKey } from "../domain/access-key/key-authorization.ts";
import { neededVerbs } from "../domain/access-key/needed-verbs.ts";
import type { Clock } from "../runtime/clock.ts";
import { type AdmissionStep, admitted, refused } from "./admission.ts";

/** Dependencies of a scope check. */
export interface ScopeAdmissionDeps {
  readonly accessKeys: Pick<AccessKeyCache, "byId" | "isFresh" | "locationOf" | "roles">;
  readonly clock: Pick<Clock, "now">;
}

/** Dependencies of {@link awaitNewKey}. */
interface AwaitNewKeyDeps {
  readonly accessKeys: Pick<AccessKeyCache, "byId">;
  readonly clock: Pick<Clock, "wakeAfter">;
  readonly secondLooks: SecondLooks;
}

/**
 * Waits 100 ms for the key of a request if it is not in the cache: the process that authenticated it
 * may have observed the creation of the key earlier.
 */
export function awaitNewKey({ accessKeys, clock, secondLooks }: AwaitNewKeyDeps): AdmissionStep {
  return async (request) => {
    const keyId = soleExtra(request.user, extras.keyId);
    if (keyId !== undefined && accessKeys.byId(keyId) === undefined)
      await secondLooks.wait({}, clock);
    return admitted(request);
  };
}

/**
 * Refuses a change that requires a verb outside the scope of the key of the request: without
 * Latchkey's authorizer, policies check such verbs only for the user.
 */
export function enforceScope(deps: ScopeAdmissionDeps): AdmissionStep {
  return (request) => {
    const denied = neededVerbs(request)
      .map((needed) => scopeProblem(request.user, needed, deps))
      .find((problem) => problem !== undefined);
    return denied === undefined ? admitted(request) : refused(403, denied);
  };
}

/**
 * Why the key of the user's request does not allow another request, for one named object; undefined
 * if it does, or if there is no key.
 */
export function scopeProblem(
  user: AdmissionUser,
  request: ReviewedResource,
  { accessKeys, clock }: ScopeAdmissionDeps,
): string | undefined {
  if (user.extra[extras.keyId] === undefined) return undefined;
  if (!accessKeys.isFresh()) return notSyncedMessage;
  const resolved = accessKeys.byId(soleExtra(user, extras.keyId) ?? "");
  const resourceScope = request.namespace === "" ? "Cluster" : "Namespaced";
  const verdict = authorizeWithKey(
    resolved,
    {
      request: { ...request, ...accessKeys.locationOf(request.namespace), resourceScope },
      roles: accessKeys.roles(),
    },
    clock.now(),
  );
  return verdict.kind === "denied" ? verdict.reason : undefined;
}
