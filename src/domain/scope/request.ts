import type { ReviewedPath, ReviewedResource } from "../../api/access-review.ts";
import type { ResourceScope } from "../../api/discovery.ts";

/** What a request is made to (specification, requestTargets). */
export type RequestTarget = "Management" | "Cluster" | "ProjectSpace" | "ProjectVirtualCluster";

/**
 * Where a request goes. On the central cluster, project, space and virtual cluster are those of the
 * request's namespace, by its labels; elsewhere they are what the request was sent to. What is not
 * known is absent, and nothing selects it.
 */
export interface RequestLocation {
  readonly target: RequestTarget;
  readonly cluster?: string;
  readonly project?: string;
  readonly space?: string;
  readonly virtualCluster?: string;
  /** The namespace of the virtual cluster itself. */
  readonly virtualClusterNamespace?: string;
}

/** A request for a resource, where it goes, and whether the resource is in namespaces. */
export type ResourceRequest = RequestLocation &
  ReviewedResource & { readonly resourceScope: ResourceScope };

/** A request for a path, and where it goes. */
export type PathRequest = RequestLocation & ReviewedPath;

/** A request that a scope is asked about. */
export type ScopedRequest = ResourceRequest | PathRequest;
