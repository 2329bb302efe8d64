/** What a request is made to (specification, requestTargets). */
export type RequestTarget = "Management" | "Cluster" | "ProjectSpace" | "ProjectVirtualCluster";

/**
 * Where a request goes. On the central cluster, project, space and virtual cluster are those of the request's namespace, by
 * its labels; elsewhere they are what the request was sent to. What is not known is absent, and nothing selects it.
 */
export interface RequestPlace {
  readonly target: RequestTarget;
  readonly cluster?: string;
  readonly project?: string;
  readonly space?: string;
  readonly virtualCluster?: string;
  /** The namespace of the virtual cluster itself. */
  readonly virtualClusterNamespace?: string;
}

/** A request for a resource, in the words of a SubjectAccessReview; empty texts where there is none. */
export interface ResourceRequest extends RequestPlace {
  readonly kind: "resource";
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly namespace: string;
}

/** A request for a path that names no resource, such as `/healthz`. */
export interface PathRequest extends RequestPlace {
  readonly kind: "path";
  readonly verb: string;
  readonly path: string;
}

/** A request that a scope is asked about. */
export type ScopedRequest = ResourceRequest | PathRequest;
