import type { KeyBook } from "../access/key-book.ts";
import { type AccessReview, accessReviewVersion, parseAccessReview, soleExtra } from "../api/access-review.ts";
import { extras } from "../api/names.ts";
import type { OwnedAccessKeySeen } from "../api/owned-access-key.ts";
import { authorizeWithKey, type KeyVerdict } from "../domain/key-authorization.ts";
import type { Clock } from "../runtime/clock.ts";
import { type Handler, json } from "../runtime/routes.ts";
import { badReview, readJson } from "./review.ts";

/** How a SubjectAccessReview ended, for metrics. */
export type AccessReviewResult = "no-opinion" | "denied" | "not-ready";

/** What SubjectAccessReviews are answered from. */
export interface AccessReviewDeps {
  readonly book: Pick<KeyBook, "byId" | "waitingFor" | "placeOf" | "roles">;
  readonly clock: Pick<Clock, "now">;
  /** Told of each key that was used. */
  readonly onUse: (key: OwnedAccessKeySeen) => void;
  readonly onResult: (result: AccessReviewResult) => void;
}

/** Answers SubjectAccessReviews: is this request beyond the key it was made with? (Kubernetes, "Webhook Mode") */
export function accessReviewHandler(deps: AccessReviewDeps): Handler {
  return (request) => {
    const review = parseAccessReview(readJson(request));
    if (review === undefined) return badReview("SubjectAccessReview", accessReviewVersion);
    const verdict = judge(review, deps);
    // RBAC has the last word on what is not denied.
    const status = verdict.kind === "denied" ? { allowed: false, denied: true, reason: verdict.reason } : { allowed: false };
    return json({ apiVersion: accessReviewVersion, kind: "SubjectAccessReview", status });
  };
}

function judge(review: AccessReview, { book, clock, onUse, onResult }: AccessReviewDeps): KeyVerdict {
  if (review.extra[extras.keyId] === undefined) {
    onResult("no-opinion");
    return { kind: "no-opinion" };
  }
  if (book.waitingFor().length > 0) {
    onResult("not-ready");
    return { kind: "denied", reason: "latchkey has not read the access keys yet; try again in a moment" };
  }
  const { request } = review;
  const view = book.byId(soleExtra(review, extras.keyId) ?? "");
  const place = book.placeOf(request.kind === "resource" ? request.namespace : "");
  const verdict = authorizeWithKey(view, { request, place, roles: book.roles() }, clock.now());
  onResult(verdict.kind);
  if (view !== undefined && verdict.kind === "no-opinion") onUse(view.key);
  return verdict;
}
