import type { ReviewedPath, ReviewedResource } from "../../api/access-review.ts";
import type { ResourceScope } from "../../api/discovery.ts";
import { labels } from "../../api/names.ts";

/**
 * The location of a request. On the central cluster, project, space and virtual cluster are those
 * in the labels of the namespace; on other targets they identify the target. Unknown ones are
 * absent and match nothing.
 */
export interface RequestLocation {
  /** Specification, requestTargets. */
  readonly target: "Management" | "Cluster" | "ProjectSpace" | "ProjectVirtualCluster";
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

/**
 * The location of a request to the central cluster: the project, space and virtual cluster in the
 * labels of its namespace, if any.
 */
export function locationOf(
  namespaceLabels: Readonly<Record<string, string>> = {},
): RequestLocation {
  const named = {
    project: namespaceLabels[labels.project],
    space: namespaceLabels[labels.space],
    virtualCluster: namespaceLabels[labels.virtualCluster],
  };
  const known = Object.entries(named).filter(([, name]) => name !== undefined && name !== "");
  return { target: "Management", ...Object.fromEntries(known) };
}
