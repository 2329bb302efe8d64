import { recordAt, stringAt } from "./parse.ts";
import { SecretText } from "./secret-text.ts";

/** `apiVersion` of the supported TokenReviews. */
export const tokenReviewVersion = "authentication.k8s.io/v1";

/**
 * Parses the token of a TokenReview (Kubernetes API reference, authentication.k8s.io/v1); undefined
 * for any other input.
 */
export function parseTokenReview(raw: unknown): SecretText | undefined {
  const isReview =
    stringAt(raw, "apiVersion") === tokenReviewVersion && stringAt(raw, "kind") === "TokenReview";
  const token = stringAt(recordAt(raw, "spec"), "token");
  return isReview && token !== undefined ? new SecretText(token) : undefined;
}
