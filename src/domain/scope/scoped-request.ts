import type { ReviewedPath, ReviewedResource } from "../../api/access-review.ts";
import type { ResourceScope } from "../../api/discovery.ts";
import { labels } from "../../api/names.ts";

/**
 * The location of a request. In the central cluster and in connected clusters, project, space and
 * virtual cluster are those in the labels of the namespace; on other targets they identify the
 * target. Unknown ones are absent and match nothing.
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
  /** Where Latchkey runs in a cluster that is not the central one; "unknown" if it may be any. */
  readonly latchkeyNamespaces?: ReadonlySet<string> | "unknown";
}

/** A resource request, its location, and whether the resource is namespaced. */
export type ResourceRequest = RequestLocation &
  ReviewedResource & { readonly resourceScope: ResourceScope };

/** A path request and its location. */
export type PathRequest = RequestLocation & ReviewedPath;

/** A request to check against a scope. */
export type ScopedRequest = ResourceRequest | PathRequest;

/** The location of a request to the central cluster that is in no project. */
export const managementLocation: RequestLocation = { target: "Management" };

/**
 * The location of a request in a namespace with these labels, which name its project, space and
 * virtual cluster. `base` is the location of every request to the cluster. Labels only count if
 * only administrators can set them. A `base` that has a project ignores them: they are those of a
 * tenant of that project.
 */
export function locationOf(
  base: RequestLocation,
  namespaceLabels: Readonly<Record<string, string>> = {},
): RequestLocation {
  if (base.project !== undefined) return base;
  const named = {
    project: namespaceLabels[labels.project],
    space: namespaceLabels[labels.space],
    virtualCluster: namespaceLabels[labels.virtualCluster],
  };
  const known = Object.entries(named).filter(([, name]) => name !== undefined && name !== "");
  return { ...base, ...Object.fromEntries(known) };
}
