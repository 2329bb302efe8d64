import { isOfKind, recordAt, stringAt } from "./parse.ts";
import { apiVersionOf, resources } from "./resources.ts";
import { SecretText } from "./secret-text.ts";

/** `apiVersion` of the supported TokenReviews. */
export const tokenReviewVersion = apiVersionOf(resources.tokenReviews);

/**
 * Parses the token of a TokenReview (Kubernetes API reference, authentication.k8s.io/v1); undefined
 * for any other input.
 */
export function parseTokenReview(raw: unknown): SecretText | undefined {
  const isReview = isOfKind(raw, tokenReviewVersion, resources.tokenReviews.kind);
  const token = stringAt(recordAt(raw, "spec"), "token");
  return isReview && token !== undefined ? new SecretText(token) : undefined;
}
