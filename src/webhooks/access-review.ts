import type { AccessKeyCache } from "../authn/access-key-cache.ts";
import { scopedRequest } from "../authn/scoped-request.ts";
import {
  type AccessReview,
  accessReviewVersion,
  parseAccessReview,
  soleExtra,
} from "../api/access-review.ts";
import { extras } from "../api/names.ts";
import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import { authorizeWithKey, type KeyVerdict } from "../domain/access-key/key-authorization.ts";
import { isScoped, type ResolvedKey } from "../domain/access-key/key-state.ts";
import type { Discovery } from "../kube/discovery.ts";
import { isKubeError } from "../kube/errors.ts";
import type { Clock } from "../runtime/clock.ts";
import { type Handler, json } from "../runtime/routes.ts";
import { badReview, readJson, notSyncedMessage } from "./review.ts";

/** How a SubjectAccessReview ended, for metrics. */
export type AccessReviewResult = "no-opinion" | "denied" | "not-ready";

/** Dependencies of {@link accessReviewHandler}. */
export interface AccessReviewDeps {
  readonly accessKeys: Pick<AccessKeyCache, "byId" | "isFresh" | "locationOf" | "roles">;
  readonly discovery: Pick<Discovery, "known" | "find">;
  readonly clock: Pick<Clock, "now">;
  /** Called for each key that was used. */
  readonly onUse: (key: ObservedAccessKey) => void;
  readonly onResult: (result: AccessReviewResult) => void;
}

/**
 * Handles SubjectAccessReviews: denies requests beyond the key that they were made with
 * (Kubernetes, "Webhook Mode").
 */
export function accessReviewHandler(deps: AccessReviewDeps): Handler {
  return async (request) => {
    const review = parseAccessReview(readJson(request));
    if (review === undefined) return badReview("SubjectAccessReview", accessReviewVersion);
    const verdict = await evaluate(review, deps);
    // RBAC decides about requests that are not denied.
    const status =
      verdict.kind === "denied"
        ? { allowed: false, denied: true, reason: verdict.reason }
        : { allowed: false };
    return json({ apiVersion: accessReviewVersion, kind: "SubjectAccessReview", status });
  };
}

async function evaluate(
  review: AccessReview,
  { accessKeys, discovery, clock, onUse, onResult }: AccessReviewDeps,
): Promise<KeyVerdict> {
  if (review.extra[extras.keyId] === undefined) {
    onResult("no-opinion");
    return { kind: "no-opinion" };
  }
  if (!accessKeys.isFresh()) {
    onResult("not-ready");
    return { kind: "denied", reason: notSyncedMessage };
  }
  const usedKey = (): ResolvedKey | undefined =>
    accessKeys.byId(soleExtra(review, extras.keyId) ?? "");
  let resolved = usedKey();
  let request = scopedRequest(review.request, {
    accessKeys,
    discovery,
    isScoped: resolved !== undefined && isScoped(resolved),
  });
  if (request instanceof Promise) {
    try {
      request = await request;
    } catch (error) {
      if (!isKubeError(error)) throw error;
      onResult("not-ready");
      return {
        kind: "denied",
        reason: "API discovery failed; retry",
      };
    }
    if (!accessKeys.isFresh()) {
      onResult("not-ready");
      return { kind: "denied", reason: notSyncedMessage };
    }
    // The key may have changed in the meantime.
    resolved = usedKey();
  }
  const verdict = authorizeWithKey(resolved, { request, roles: accessKeys.roles() }, clock.now());
  onResult(verdict.kind);
  if (resolved !== undefined && verdict.kind === "no-opinion") onUse(resolved.key);
  return verdict;
}
