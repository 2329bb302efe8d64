import type { ResourceScope } from "../../api/discovery.ts";
import { group as ownGroup } from "../../api/names.ts";

/**
 * Resources of the whole cluster that authorizers are asked about and that no API server serves, by
 * group.
 */
const clusterWide: ReadonlyMap<string, readonly string[]> = new Map([
  // Kubernetes, "User impersonation", and of 1.35 "Constrained impersonation".
  ["", ["users", "groups"]],
  ["authentication.k8s.io", ["users", "groups", "uids", "userextras", "nodes"]],
  // Kubernetes, "Certificates and Certificate Signing Requests", Authorization.
  ["certificates.k8s.io", ["signers"]],
  [ownGroup, ["projects"]],
]);

/** Whether such a resource is in namespaces; undefined for all that only discovery knows. */
export function authorizationOnlyScope(
  group: string,
  resource: string,
): Exclude<ResourceScope, "Unknown"> | undefined {
  // The service accounts of constrained impersonation.
  if (group === "authentication.k8s.io" && resource === "serviceaccounts") return "Namespaced";
  return clusterWide.get(group)?.includes(resource) === true ? "Cluster" : undefined;
}
