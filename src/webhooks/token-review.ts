import type { SecretText } from "../api/secret-text.ts";
import { parseTokenReview, tokenReviewVersion } from "../api/token-review.ts";
import { identifyKey, type IdentifyKeyDeps } from "../authn/identify-key.ts";
import type { UserInfo } from "../domain/access-key/authenticate.ts";
import { type Handler, json } from "../runtime/routes.ts";
import { badReview, readJson } from "./review-route.ts";

/** Handles TokenReviews (Kubernetes, "Webhook Token Authentication"). */
export function tokenReviewHandler(deps: IdentifyKeyDeps): Handler {
  return async (request) => {
    const token = parseTokenReview(readJson(request));
    if (token === undefined) return badReview("TokenReview", tokenReviewVersion);
    const status = await review(token, deps);
    return json({ apiVersion: tokenReviewVersion, kind: "TokenReview", status });
  };
}

type TokenReviewStatus =
  | { readonly authenticated: true; readonly user: UserInfo }
  | { readonly authenticated: false; readonly error?: string };

async function review(token: SecretText, deps: IdentifyKeyDeps): Promise<TokenReviewStatus> {
  const identification = await identifyKey({ token }, deps);
  if (identification.kind === "authenticated")
    return { authenticated: true, user: identification.user };
  // kube-apiserver caches a rejection for 15 s, but no error.
  return identification.kind === "not-ready"
    ? { authenticated: false, error: identification.why }
    : { authenticated: false };
}
