import type { ReviewedPath, ReviewedResource } from "../../api/access-review.ts";
import type { ResourceScope } from "../../api/discovery.ts";

/** The target of a request (specification, requestTargets). */
export type RequestTarget = "Management" | "Cluster" | "ProjectSpace" | "ProjectVirtualCluster";

/**
 * The location of a request. On the central cluster, project, space and virtual cluster are those
 * in the labels of the namespace; on other targets they identify the target. Unknown ones are
 * absent and match nothing.
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

/** A resource request, its location, and whether the resource is namespaced. */
export type ResourceRequest = RequestLocation &
  ReviewedResource & { readonly resourceScope: ResourceScope };

/** A path request and its location. */
export type PathRequest = RequestLocation & ReviewedPath;

/** A request to check against a scope. */
export type ScopedRequest = ResourceRequest | PathRequest;
