import { annotations } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import { clusterOfSecret, currentOf } from "../gateway/connected-cluster.ts";
import { namesOrAll, type SyncList } from "../sync/option-items.ts";
import type { ConnectedCluster } from "./consents.ts";

/**
 * The projects that a cluster lets in: names, or `*` alone for all of them. A list with a glob is
 * rejected, because it would let in projects that do not exist yet.
 */
export function letInProjects(text?: string): SyncList {
  return namesOrAll("projects", text);
}

/**
 * The cluster that a Secret in `latchkey-clusters` connects, from its metadata; undefined for a
 * Secret without its label. An invalid list of projects lets none in.
 */
export function connectedCluster(secret: Metadata): ConnectedCluster | undefined {
  const name = clusterOfSecret(secret);
  if (name === undefined) return undefined;
  const list = letInProjects(secret.annotations[annotations.projects]);
  return { name, uid: secret.uid, projects: list.kind === "entries" ? list.entries : [] };
}

/** The Secret that connects each cluster, by the name of the cluster: the oldest one counts. */
export function secretsByCluster(secrets: readonly Metadata[]): ReadonlyMap<string, Metadata> {
  const found = new Map<string, Metadata>();
  const named = Map.groupBy(secrets, clusterOfSecret);
  for (const [name, sameName] of named) {
    const current = currentOf(sameName.map((metadata) => ({ metadata })));
    if (name !== undefined && current !== undefined) found.set(name, current.metadata);
  }
  return found;
}

/** Whether a namespace has the outbox of a cluster: it carries the uid of the cluster's Secret. */
export function isOutboxOf(namespace: Metadata, { uid }: Pick<ConnectedCluster, "uid">): boolean {
  return uid !== "" && namespace.annotations[annotations.clusterUid] === uid;
}
