import {
  type AccessReview,
  accessReviewVersion,
  parseAccessReview,
  soleExtra,
} from "../api/access-review.ts";
import { extras } from "../api/names.ts";
import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import type { Wire } from "../api/wire.ts";
import {
  authorizeKey,
  type AuthorizeKeyDeps,
  authorizeToken,
  type AuthorizeTokenDeps,
  type KeyDecision,
  type PresentedToken,
} from "../authn/authorize-request.ts";
import { tokenProblem } from "../domain/access-key/authenticate.ts";
import type { KeyVerdict } from "../domain/access-key/key-authorization.ts";
import type { TokenVerdict } from "../domain/endpoint-token/token-authorization.ts";
import { type TokenOfRequest, tokenOfRequest } from "../domain/endpoint-token/token-extras.ts";
import { type Handler, type HttpResponse, json } from "../runtime/routes.ts";
import { tokenScopes } from "../tokens/direct-token.ts";
import { badReview, readJson } from "./review-route.ts";

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
    return accessReviewResponse(await keyVerdict(review, deps));
  };
}

/** The response to a SubjectAccessReview: RBAC decides about requests that are not denied. */
function accessReviewResponse(verdict: KeyVerdict): HttpResponse {
  const status: Wire<"SubjectAccessReview">["status"] =
    verdict.kind === "denied"
      ? { allowed: false, denied: true, reason: verdict.reason }
      : { allowed: false };
  return json({ apiVersion: accessReviewVersion, kind: "SubjectAccessReview", status });
}

async function keyVerdict(review: AccessReview, deps: AccessReviewDeps): Promise<KeyVerdict> {
  const { onUse, onResult } = deps;
  if (review.extra[extras.keyId] === undefined) {
    onResult("no-opinion");
    return { kind: "no-opinion" };
  }
  const keyId = soleExtra(review, extras.keyId);
  const decision = withTokenOf(
    review,
    await authorizeKey(keyId ?? "", review.request, deps),
    deps.clock.now(),
  );
  onResult(decision.kind === "denied" && keyId === undefined ? "invalid" : decision.kind);
  if (decision.kind === "not-ready") return { kind: "denied", reason: decision.reason };
  if (decision.kind === "no-opinion" && decision.resolved !== undefined)
    onUse(decision.resolved.key);
  return decision;
}

/** Denies what was asked with a token that the key does not accept any more. */
function withTokenOf({ extra }: AccessReview, decision: KeyDecision, now: number): KeyDecision {
  const { resolved } = decision;
  if (decision.kind !== "no-opinion" || resolved === undefined) return decision;
  const reason = tokenProblem(resolved, extra, now);
  return reason === undefined ? decision : { kind: "denied", reason, resolved };
}

/** Dependencies of {@link directAccessReviewHandler}. */
interface DirectAccessReviewDeps extends AuthorizeTokenDeps {
  readonly onResult: (result: AccessReviewResult) => void;
}

/**
 * Handles SubjectAccessReviews of a connected cluster, whose kube-apiserver has verified the direct
 * token: denies requests of revoked tokens, and requests beyond the scope of their token.
 */
export function directAccessReviewHandler(deps: DirectAccessReviewDeps): Handler {
  return async (request) => {
    const review = parseAccessReview(readJson(request));
    if (review === undefined) return badReview("SubjectAccessReview", accessReviewVersion);
    const token = tokenOfRequest(review.extra);
    const verdict = await tokenVerdict(token, review.request, deps);
    deps.onResult(verdict.kind === "denied" && !isReadable(token) ? "invalid" : verdict.kind);
    return accessReviewResponse(
      verdict.kind === "not-ready" ? { kind: "denied", reason: verdict.reason } : verdict,
    );
  };
}

async function tokenVerdict(
  token: TokenOfRequest,
  request: AccessReview["request"],
  deps: DirectAccessReviewDeps,
): Promise<TokenVerdict> {
  switch (token.kind) {
    case "none":
      return { kind: "no-opinion" };
    case "invalid":
      return { kind: "denied", reason: token.reason };
    case "token":
      return authorizeToken(presented(token), request, deps);
  }
}

/** Whether the extras are those of a token whose scope can be read. */
function isReadable(token: TokenOfRequest): boolean {
  return token.kind === "token" && !presented(token).scopes.includes("unreadable");
}

function presented({
  jti,
  scope,
}: Extract<TokenOfRequest, { readonly kind: "token" }>): PresentedToken {
  return { jti, scopes: scope === undefined ? [] : (tokenScopes(scope) ?? ["unreadable"]) };
}
