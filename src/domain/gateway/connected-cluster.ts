import { labels } from "../../api/names.ts";
import { byAge, type Labelled, type Metadata } from "../../api/object.ts";
import type { RequestLocation } from "../scope/scoped-request.ts";
import type { Upstream } from "./request-target.ts";

/** The namespace of the kubeconfigs of connected clusters. */
export const clustersNamespace = "latchkey-clusters";

/** The data key of a kubeconfig in its Secret. */
export const kubeconfigKey = "kubeconfig";

/** The name of the cluster that a Secret in that namespace connects; undefined for another one. */
export function clusterOfSecret({ labels: found }: Labelled): string | undefined {
  return found[labels.cluster] || undefined;
}

/** A name for what a Secret in that namespace connects; undefined if its labels name nothing. */
export function connectionName(metadata: Labelled): string | undefined {
  const { labels: found } = metadata;
  const cluster = clusterOfSecret(metadata);
  const project = found[labels.project];
  const virtualCluster = found[labels.virtualCluster];
  if (cluster !== undefined) return upstreamName({ kind: "cluster", cluster });
  return project && virtualCluster
    ? upstreamName({ kind: "virtual-cluster", project, virtualCluster })
    : undefined;
}

/** The same name for an upstream; undefined for the management cluster and its spaces. */
export function upstreamName(upstream: Upstream): string | undefined {
  switch (upstream.kind) {
    case "cluster":
      return `cluster/${upstream.cluster}`;
    case "virtual-cluster":
      return `virtual-cluster/${upstream.project}/${upstream.virtualCluster}`;
    case "management":
    case "space":
      return undefined;
  }
}

/** What `--cluster-name` names: a cluster, or a virtual cluster as `<project>/<name>`. */
type ConnectedUpstream = Extract<Upstream, { readonly kind: "cluster" | "virtual-cluster" }>;

/** The upstream with this `--cluster-name`. */
export function namedUpstream(name: string): ConnectedUpstream {
  const [first = "", virtualCluster] = name.split("/");
  return virtualCluster === undefined
    ? { kind: "cluster", cluster: first }
    : { kind: "virtual-cluster", project: first, virtualCluster };
}

/** The location of every request to a connected cluster (specification, requestTargets). */
export function connectedLocation(upstream: ConnectedUpstream): RequestLocation {
  if (upstream.kind === "cluster") return { target: "Cluster", cluster: upstream.cluster };
  const { project, virtualCluster } = upstream;
  return { target: "ProjectVirtualCluster", project, virtualCluster };
}

/** The Secret that counts of those of one name: the oldest. */
export function currentOf<T extends { readonly metadata: Metadata }>(
  sameName: readonly T[],
): T | undefined {
  return sameName.toSorted(byAge)[0];
}

/**
 * The location of every request to an upstream (specification, requestTargets); undefined for the
 * management cluster, where the labels of the namespace decide.
 */
export function upstreamLocation(upstream: Upstream): RequestLocation | undefined {
  switch (upstream.kind) {
    case "management":
      return undefined;
    case "space":
      return { target: "ProjectSpace", project: upstream.project, space: upstream.space };
    case "cluster":
    case "virtual-cluster":
      return connectedLocation(upstream);
  }
}
