import { keyOf } from "../api/object.ts";
import { currentOf } from "../domain/gateway/connected-cluster.ts";
import { isRemovalBlocked, type ObservedClusterSync } from "../domain/outbox/cluster-obstacle.ts";
import { emptyReport } from "../domain/outbox/cluster-report.ts";
import {
  namedClusters,
  type OfferedSummary,
  summarizeClusters,
} from "../domain/outbox/cluster-sync.ts";
import { isOutboxOf } from "../domain/outbox/connected-clusters.ts";
import type { ConnectedCluster } from "../domain/outbox/consents.ts";
import {
  clusterOfOutbox,
  outboxName,
  outboxNamespace,
  reportName,
  reportNumberOf,
} from "../domain/outbox/outbox-names.ts";
import { type ObservedOutboxSecret, withdrawnUid } from "../domain/outbox/outbox-secret.ts";
import {
  type ObservedOutboxKey,
  outboxState,
  type ReportedKey,
} from "../domain/outbox/outbox-state.ts";
import type { Source } from "../domain/sync/copy.ts";
import type { Target } from "../domain/sync/obstacles.ts";
import { observeAgent } from "./cluster-agents.ts";
import { failureAt } from "./failures.ts";
import { sourceAt } from "./outbox-keys.ts";
import { indexes, type Stores } from "./stores.ts";
import type { World } from "./world.ts";

type OutboxWorld = Pick<World, "stores" | "memory" | "queues" | "clock" | "options">;

/** The observed state of one Secret of an outbox. */
export function observeOutbox(target: Target, { stores, options }: OutboxWorld): ObservedOutboxKey {
  const existing = stores.outboxes.get(keyOf(target));
  const name = clusterOfOutbox(target.namespace) ?? "";
  const cluster = clusterWithOutbox(name, stores);
  const reported =
    cluster === undefined ? { done: emptyReport.done } : reportedAt(target, existing, stores);
  const namespace = stores.namespaces.get(target.namespace);
  const source = sourceAt(target, { existing, unknown: reported.unknown }, stores);
  const share = shareOf(target.namespace, source?.secret.metadata.namespace ?? "");
  return {
    target,
    existing,
    cluster,
    reported,
    source,
    isTerminating: namespace === undefined || namespace.deletionTimestamp !== undefined,
    usage: {
      bytes: stores.outboxes.sizeBy(indexes.namespace, target.namespace),
      namespaceBytes: stores.outboxes.sizeBy(indexes.outboxShare, share),
      maximumBytes: options.maximumOutboxBytes,
      withdrawals: stores.outboxes.countBy(indexes.withdrawn, target.namespace),
    },
  };
}

/** The value of `indexes.outboxShare` for an outbox and a namespace of sources. */
export function shareOf(outbox: string, namespace: string): string {
  return `${outbox}/${namespace}`;
}

/** The cluster that a Secret connects; the oldest of a name counts. */
function clusterNamed(name: string, { clusters }: Stores): ConnectedCluster | undefined {
  return currentOf(clusters.by(indexes.clusterName, name))?.cluster;
}

/** The cluster of this name, if its outbox is that of its Secret. */
function clusterWithOutbox(name: string, stores: Stores): ConnectedCluster | undefined {
  const cluster = clusterNamed(name, stores);
  const namespace = stores.namespaces.get(outboxNamespace(name));
  return cluster && namespace && isOutboxOf(namespace, cluster) ? cluster : undefined;
}

/** What the reports of the cluster say about a Secret of its outbox. */
function reportedAt(
  { namespace, name }: Target,
  existing: ObservedOutboxSecret | undefined,
  { clusterReports }: Stores,
): ReportedKey {
  if (existing === undefined) {
    const reports = clusterReports.by(indexes.outboxName, name);
    const own = reports.find(({ metadata }) => metadata.namespace === namespace);
    return { done: emptyReport.done, unknown: own?.unknown.get(name) };
  }
  const uid = withdrawnUid(existing);
  if (uid === undefined) return { done: emptyReport.done };
  const report = keyOf({ namespace, name: reportName(reportNumberOf(uid)) });
  return { done: clusterReports.get(report)?.report.done ?? emptyReport.done };
}

/**
 * What the connected clusters have of a source: those that it names, and those that cannot remove
 * what they had; undefined without any.
 */
export function observeClusters(source: Source, world: OutboxWorld): OfferedSummary | undefined {
  const { stores } = world;
  // One that only the gateway uses is not meant by "*".
  const connected = [...stores.clusters.namesIn(indexes.clusterName)].filter(
    (cluster) => clusterWithOutbox(cluster, stores) !== undefined,
  );
  const named = namedClusters(source, connected);
  const blocked = blockedRemovals(source, world).filter(({ name }) => !named.includes(name));
  if (source.options.clusters.length + blocked.length === 0) return undefined;
  const clusters = named.map((cluster) => observeCluster(source, cluster, world));
  return summarizeClusters(source, [...clusters, ...blocked]);
}

/** The clusters that cannot remove what they had of a source. */
export function blockedRemovals(
  source: Source,
  world: OutboxWorld,
): readonly ObservedClusterSync[] {
  const withdrawn = holdingSecrets(source, world.stores).filter(
    (secret) => withdrawnUid(secret) !== undefined,
  );
  return clustersOf(withdrawn)
    .map((cluster) => observeCluster(source, cluster, world))
    .filter(isRemovalBlocked);
}

/** The clusters whose outbox has a Secret with the uid of a source. */
export function holdingClusters(source: Source, stores: Stores): readonly string[] {
  return clustersOf(holdingSecrets(source, stores));
}

function holdingSecrets({ secret }: Source, { outboxes }: Stores): readonly ObservedOutboxSecret[] {
  return outboxes.by(indexes.uid, secret.metadata.uid);
}

function clustersOf(secrets: readonly ObservedOutboxSecret[]): readonly string[] {
  return secrets.flatMap(({ metadata }) => clusterOfOutbox(metadata.namespace ?? "") ?? []);
}

function observeCluster(
  { secret }: Source,
  cluster: string,
  world: OutboxWorld,
): ObservedClusterSync {
  const { stores } = world;
  const target = { namespace: outboxNamespace(cluster), name: outboxName(secret.metadata) };
  const observed = observeOutbox(target, world);
  const { uid } = secret.metadata;
  const report = keyOf({ ...target, name: reportName(reportNumberOf(uid)) });
  return {
    name: cluster,
    connected: clusterNamed(cluster, stores),
    namespace: stores.namespaces.get(target.namespace),
    state: outboxState(observed).kind,
    secret: observed.existing?.metadata,
    failure: failureAt("outbox", keyOf(target), world),
    report: stores.clusterReports.get(report)?.report.sources.get(uid),
    agent: observeAgent(cluster, world),
  };
}
