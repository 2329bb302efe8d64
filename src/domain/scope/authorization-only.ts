import type { ResourceScope } from "../../api/discovery.ts";
import { group as ownGroup } from "../../api/names.ts";

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
  // Constrained impersonation of service accounts.
  if (group === "authentication.k8s.io" && resource === "serviceaccounts") return "Namespaced";
  return clusterWide.get(group)?.includes(resource) === true ? "Cluster" : undefined;
}
