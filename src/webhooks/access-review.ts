import {
  type AccessReview,
  accessReviewVersion,
  parseAccessReview,
  soleExtra,
} from "../api/access-review.ts";
import { extras } from "../api/names.ts";
import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import { authorizeKey, type AuthorizeKeyDeps } from "../authn/authorize-request.ts";
import type { KeyVerdict } from "../domain/access-key/key-authorization.ts";
import { type Handler, type HttpResponse, json } from "../runtime/routes.ts";
import { badReview, readJson } from "./review.ts";

/**
 * How a SubjectAccessReview ended, for metrics; invalid: denied, because the extras of its user are
 * not those of a valid key or token.
 */
export const accessReviewResults = ["no-opinion", "denied", "invalid", "not-ready"] as const;

/** One of these results. */
export type AccessReviewResult = (typeof accessReviewResults)[number];

/** Dependencies of {@link accessReviewHandler}. */
interface AccessReviewDeps extends AuthorizeKeyDeps {
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
    return accessReviewResponse(await evaluate(review, deps));
  };
}

/** The response to a SubjectAccessReview: RBAC decides about requests that are not denied. */
export function accessReviewResponse(verdict: KeyVerdict): HttpResponse {
  const status =
    verdict.kind === "denied"
      ? { allowed: false, denied: true, reason: verdict.reason }
      : { allowed: false };
  return json({ apiVersion: accessReviewVersion, kind: "SubjectAccessReview", status });
}

async function evaluate(review: AccessReview, deps: AccessReviewDeps): Promise<KeyVerdict> {
  const { onUse, onResult } = deps;
  if (review.extra[extras.keyId] === undefined) {
    onResult("no-opinion");
    return { kind: "no-opinion" };
  }
  const keyId = soleExtra(review, extras.keyId);
  const decision = await authorizeKey(keyId ?? "", review.request, deps);
  onResult(decision.kind === "denied" && keyId === undefined ? "invalid" : decision.kind);
  if (decision.kind === "not-ready") return { kind: "denied", reason: decision.reason };
  if (decision.kind === "no-opinion" && decision.resolved !== undefined)
    onUse(decision.resolved.key);
  return decision;
}
