import type { ReviewedRequest } from "../../api/access-review.ts";
import type { ResourceScope } from "../../api/discovery.ts";
import { group as ownGroup } from "../../api/names.ts";
import { resources } from "../../api/resources.ts";
import type { RequestLocation, ScopedRequest } from "./scoped-request.ts";

/**
 * Cluster-scoped resources, by API group, that exist only in authorization and that no API server
 * serves.
 */
const clusterWide: ReadonlyMap<string, readonly string[]> = new Map([
  // Kubernetes, "User impersonation", and of 1.35 "Constrained impersonation".
  ["", ["users", "groups"]],
  ["authentication.k8s.io", ["users", "groups", "uids", "userextras", "nodes"]],
  // Kubernetes, "Certificates and Certificate Signing Requests", Authorization.
  ["certificates.k8s.io", ["signers"]],
  [ownGroup, ["projects", "clusters"]],
]);

/** The scope of a resource that exists only in authorization; undefined for all other resources. */
export function authorizationOnlyScope(
  group: string,
  resource: string,
): Exclude<ResourceScope, "Unknown"> | undefined {
  // Constrained impersonation of service accounts; and of a review, all resources.
  if (resource === "*" || (group === "authentication.k8s.io" && resource === "serviceaccounts"))
    return "Namespaced";
  return clusterWide.get(group)?.includes(resource) === true ? "Cluster" : undefined;
}

/** A request as it is sent: without the namespace that `kubectl auth can-i` names for nodes. */
export function sentRequest(
  request: ReviewedRequest,
  resourceScope: ResourceScope | undefined,
): ReviewedRequest {
  if (request.kind === "path" || resourceScope !== "Cluster") return request;
  const { group, resource, name } = request;
  const isNamespace = group === "" && resource === resources.namespaces.plural;
  return { ...request, namespace: isNamespace ? name : "" };
}

/** A request at its location; `known` is the scope of its resource, if discovery knows it. */
export function locatedRequest(
  request: ReviewedRequest,
  location: RequestLocation,
  known: ResourceScope | undefined,
): ScopedRequest {
  if (request.kind === "path") return { ...request, ...location };
  const { group, resource } = request;
  const resourceScope = known ?? authorizationOnlyScope(group, resource) ?? "Unknown";
  return { ...request, ...location, resourceScope };
}
