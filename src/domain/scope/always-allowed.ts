import { resources } from "../../api/resources.ts";
import { coversPath } from "./patterns.ts";
import type { ScopedRequest } from "./scoped-request.ts";

/**
 * The paths of the built-in ClusterRole `system:discovery` (Kubernetes, "Using RBAC Authorization",
 * API discovery roles).
 */
const discovery = [
  "/api",
  "/api/*",
  "/apis",
  "/apis/*",
  "/healthz",
  "/livez",
  "/openapi",
  "/openapi/*",
  "/readyz",
  "/version",
  "/version/",
];

const selfReviews = [
  resources.selfReviews,
  resources.selfAccessReviews,
  resources.selfRulesReviews,
];

/**
 * Whether every valid key may make the request regardless of its scope: API discovery and self
 * reviews.
 */
export function isAlwaysAllowed(request: ScopedRequest): boolean {
  if (request.kind === "path")
    return request.verb === "get" && discovery.some((pattern) => coversPath(pattern, request.path));
  const isSelfReview = selfReviews.some(
    ({ group, plural }) => group === request.group && plural === request.resource,
  );
  return isSelfReview && request.verb === "create" && request.subresource === "";
}
