import { labels } from "../../api/names.ts";
import { parseLatchkeyMetadata } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { clustersNamespace } from "../../domain/gateway/connected-cluster.ts";
import { connectedCluster } from "../../domain/outbox/connected-clusters.ts";
import { valuesOf } from "../enqueuer.ts";
import { agentKey, enqueueCluster } from "../outbox-keys.ts";
import { type ClusterSecret, indexes } from "../stores.ts";
import type { World } from "../world.ts";
import { gainedOrLost, type WatchedKind } from "./watched-kind.ts";

/** Secrets that connect clusters, as metadata: their names, and the projects that they let in. */
export function clusterKind(): WatchedKind<ClusterSecret, World> {
  return {
    listOptions: {
      resource: resources.secrets,
      namespace: clustersNamespace,
      labelSelector: labels.cluster,
      metadataOnly: true,
    },
    isReadOnly: true,
    parse: parseCluster,
    indexers: { [indexes.clusterName]: ({ cluster }) => [cluster.name] },
    says({ before, after }) {
      const cluster = (after ?? before)?.cluster.name ?? "";
      const [former, current] = [before?.cluster.projects, after?.cluster.projects];
      if (before !== undefined && after !== undefined)
        return gainedOrLost("projects of a cluster changed", { cluster }, [former, current]);
      const message = after === undefined ? "cluster disconnected" : "cluster connected";
      return [{ message, fields: { cluster, projects: current ?? former } }];
    },
    enqueue(change, enqueuer) {
      for (const name of valuesOf(change, ({ cluster }) => cluster.name)) {
        enqueuer.queues.outbox.add(agentKey(name), "high");
        enqueueCluster(name, enqueuer);
      }
    },
    enqueueAll: async ({ queues, stores }) => {
      for (const name of stores.clusters.namesIn(indexes.clusterName))
        queues.outbox.add(agentKey(name), "high");
    },
  };
}

function parseCluster(raw: unknown): ClusterSecret | undefined {
  const metadata = parseLatchkeyMetadata(raw);
  const cluster = connectedCluster(metadata);
  return cluster && { metadata, cluster };
}
