import { coversPath } from "./patterns.ts";
import type { ScopedRequest } from "./request.ts";

/**
 * What the built-in ClusterRole `system:discovery` covers (Kubernetes, "Using RBAC Authorization",
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

const selfReviews: ReadonlyMap<string, readonly string[]> = new Map([
  ["authentication.k8s.io", ["selfsubjectreviews"]],
  ["authorization.k8s.io", ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]],
]);

/**
 * What every live key may ask whatever its scope: what the API is, and about itself. It shows
 * nothing of anyone else.
 */
export function isAlwaysAllowed(request: ScopedRequest): boolean {
  if (request.kind === "path")
    return request.verb === "get" && discovery.some((pattern) => coversPath(pattern, request.path));
  const isSelfReview = selfReviews.get(request.group)?.includes(request.resource) === true;
  return isSelfReview && request.verb === "create" && request.subresource === "";
}
