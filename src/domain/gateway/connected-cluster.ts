import { annotations, labels } from "../../api/names.ts";
import { byAge, type Labelled, type Marks, type Metadata } from "../../api/object.ts";
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

/** What a Secret in that namespace connects; undefined if its labels name nothing. */
export function connectedBySecret(metadata: Labelled): ConnectedUpstream | undefined {
  const { labels: found } = metadata;
  const cluster = clusterOfSecret(metadata);
  const project = found[labels.project];
  const virtualCluster = found[labels.virtualCluster];
  if (cluster !== undefined) return { kind: "cluster", cluster };
  return project && virtualCluster
    ? { kind: "virtual-cluster", project, virtualCluster }
    : undefined;
}

/** A name for what a Secret in that namespace connects; undefined if its labels name nothing. */
export function connectionName(metadata: Labelled): string | undefined {
  const upstream = connectedBySecret(metadata);
  return upstream && upstreamName(upstream);
}

/** The same name for an upstream; undefined for the central cluster and its spaces. */
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

/**
 * The location of every request to a connected cluster (specification, requestTargets);
 * `virtualClusterNamespace` is the namespace of a virtual cluster in the cluster that runs it.
 */
export function connectedLocation(
  upstream: ConnectedUpstream,
  virtualClusterNamespace?: string,
): RequestLocation {
  if (upstream.kind === "cluster") return { target: "Cluster", cluster: upstream.cluster };
  const { project, virtualCluster } = upstream;
  return {
    target: "ProjectVirtualCluster",
    project,
    virtualCluster,
    ...(virtualClusterNamespace === undefined ? {} : { virtualClusterNamespace }),
  };
}

const dnsLabel = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * The namespace of the virtual cluster that a Secret connects, and a sentence without a period if
 * the annotation is not usable.
 */
export function virtualClusterNamespaceOf({ annotations: found, ...metadata }: Marks): {
  readonly namespace?: string;
  readonly problem?: string;
} {
  const namespace = found[annotations.virtualClusterNamespace];
  if (namespace === undefined) return {};
  const field = `metadata.annotations[${annotations.virtualClusterNamespace}]`;
  if (!dnsLabel.test(namespace))
    return { problem: `${field}: ${JSON.stringify(namespace.slice(0, 63))} must be a DNS label` };
  return connectedBySecret(metadata)?.kind === "virtual-cluster"
    ? { namespace }
    : { problem: `${field} has no effect, because the Secret connects no virtual cluster` };
}

/** The Secret that counts of those of one name: the oldest. */
export function currentOf<T extends { readonly metadata: Metadata }>(
  sameName: readonly T[],
): T | undefined {
  return sameName.toSorted(byAge)[0];
}

/**
 * The location of every request to an upstream (specification, requestTargets); undefined for the
 * central cluster, where the labels of the namespace decide.
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
