import { type AccessReview, accessReviewVersion, parseAccessReview } from "../api/access-review.ts";
import {
  authorizeToken,
  type AuthorizeTokenDeps,
  type PresentedToken,
} from "../authn/authorize-request.ts";
import type { TokenVerdict } from "../domain/endpoint-token/token-authorization.ts";
import { type TokenOfRequest, tokenOfRequest } from "../domain/endpoint-token/token-extras.ts";
import type { Handler } from "../runtime/routes.ts";
import { tokenScopes } from "../tokens/direct-token.ts";
import { accessReviewResponse, type AccessReviewResult } from "./access-review.ts";
import { badReview, readJson } from "./review.ts";

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
    const verdict = await evaluate(token, review.request, deps);
    deps.onResult(verdict.kind === "denied" && !isReadable(token) ? "invalid" : verdict.kind);
    return accessReviewResponse(
      verdict.kind === "not-ready" ? { kind: "denied", reason: verdict.reason } : verdict,
    );
  };
}

async function evaluate(
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
