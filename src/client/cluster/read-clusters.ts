import { components, labels, ownObjects, ownSelector } from "../../api/names.ts";
import { parseLatchkeyMetadata, recordAt, stringAt, stringMapAt } from "../../api/parse.ts";
import { type Resource, resources } from "../../api/resources.ts";
import { clustersNamespace } from "../../domain/gateway/connected-cluster.ts";
import {
  type ObservedCluster,
  renewalIn,
  throttledReason,
} from "../../domain/outbox/cluster-overview.ts";
import { parseReport, reportKey } from "../../domain/outbox/cluster-report.ts";
import { connectedCluster } from "../../domain/outbox/connected-clusters.ts";
import {
  clusterOfOutbox,
  longestClusterName,
  outboxNamespace,
} from "../../domain/outbox/outbox-names.ts";
import { similarName } from "../../domain/similar-name.ts";
import { isNamespaceName } from "../../runtime/config-values.ts";
import type { Cluster } from "../connection/cluster.ts";
import { distinctRights, type Readable, readObject, readWith } from "../missing-right.ts";
import { readEach } from "../objects/listing.ts";
import { type Connection, readConnections } from "./credential-items.ts";

/** A connected cluster, and how the gateway reaches it. */
export type ReadCluster = ObservedCluster & Pick<Connection, "access">;

/** Reads every connected cluster, and every outbox without one, by name. */
export async function readClusters(cluster: Cluster): Promise<Readable<readonly ReadCluster[]>> {
  const secrets = await connectedSecrets(cluster);
  const left = await outboxNames(cluster);
  const names = new Set([...secrets.found.keys(), ...left.found]);
  const clusters = await observeClusters([...names].toSorted(), secrets.found, cluster);
  const throttled = await throttledUids(cluster);
  const all = [secrets, left, clusters, throttled];
  const found = clusters.found.map((observed) => {
    const uid = secrets.found.get(observed.name)?.metadata.uid ?? "";
    return { ...observed, isThrottled: throttled.found.has(uid) };
  });
  const missing = all.flatMap((read) => read.missing);
  // Names without a Secret are those of an outbox that is left only if the Secrets were listed.
  return { found: secrets.missing.length > 0 ? [] : found, missing };
}

/** Reads these clusters, whether they exist or not; all that are connected for `*`. */
export async function readNamedClusters(
  names: readonly string[],
  cluster: Cluster,
): Promise<Readable<readonly ReadCluster[]>> {
  const secrets = await connectedSecrets(cluster);
  if (secrets.missing.length > 0) return { found: [], missing: secrets.missing };
  const wanted = names.includes("*") ? [...names, ...secrets.found.keys()] : names;
  const distinct = [...new Set(wanted)].filter((name) => name !== "*").toSorted();
  return observeClusters(distinct, secrets.found, cluster);
}

type ConnectionsByName = ReadonlyMap<string, Connection>;

/** What connects each cluster, without virtual clusters, which have no outbox. */
async function connectedSecrets(cluster: Cluster): Promise<Readable<ConnectionsByName>> {
  const { found, missing } = await readConnections(cluster);
  return { found: new Map([...found].filter(([name]) => !name.includes("/"))), missing };
}

/** The uids of the Secrets of which an Event says that their cluster is throttled. */
async function throttledUids({ select }: Cluster): Promise<Readable<ReadonlySet<string>>> {
  const resource = resources.events;
  const fieldSelector = `reason=${throttledReason}`;
  const options = { resource, namespace: clustersNamespace, fieldSelector };
  const right = { verb: "list", resource, namespace: clustersNamespace } as const;
  const { found, missing } = await readWith(right, () => select(options), []);
  const uids = found.map((raw) => stringAt(recordAt(raw, "regarding"), "uid") ?? "");
  return { found: new Set(uids), missing };
}

/** The names of the clusters that have the namespace of an outbox. */
async function outboxNames({ select }: Cluster): Promise<Readable<readonly string[]>> {
  const resource = resources.namespaces;
  const options = { resource, metadataOnly: true, labelSelector: ownSelector };
  const { found, missing } = await readWith({ verb: "list", resource }, () => select(options), []);
  const names = found.map((raw) => stringAt(recordAt(raw, "metadata"), "name") ?? "");
  return { found: names.flatMap((name) => clusterOfOutbox(name) ?? []), missing };
}

async function observeClusters(
  names: readonly string[],
  secrets: ConnectionsByName,
  cluster: Cluster,
): Promise<Readable<readonly ReadCluster[]>> {
  const read = await readEach(names, (name) => observeCluster(name, secrets.get(name), cluster));
  const similarTo = ({ name, connected }: ObservedCluster): string | undefined =>
    connected === undefined ? similarName(name, secrets.keys()) : undefined;
  return {
    found: read.map(({ found }) => ({ ...found, similar: similarTo(found) })),
    missing: distinctRights(read.flatMap(({ missing }) => missing)),
  };
}

async function observeCluster(
  name: string,
  secret: Connection | undefined,
  cluster: Cluster,
): Promise<Readable<ReadCluster>> {
  const connected = secret && connectedCluster(secret.metadata);
  const own = { name, connected, access: secret?.access };
  const none = { ...own, namespace: undefined, secrets: [], reports: [] };
  // A label can be longer than a namespace.
  if (!isNamespaceName(name) || name.length > longestClusterName)
    return { found: { ...none, renewedAt: undefined }, missing: [] };
  const { namespaces, leases, configMaps } = resources;
  const namespace = outboxNamespace(name);
  const place = await readObject(namespaces, { name: namespace }, cluster.getMetadata);
  const ref = { namespace, name: ownObjects.agentLease };
  const lease = await readObject(leases, ref, cluster.get);
  const list = (resource: Resource, labelSelector: string, metadataOnly: boolean) =>
    readWith(
      { verb: "list", resource, namespace },
      () => cluster.select({ resource, namespace, labelSelector, metadataOnly }),
      [],
    );
  const isReport = `${labels.component}=${components.clusterReport}`;
  const outbox = await list(resources.secrets, labels.outboxUid, true);
  const reports = await list(configMaps, isReport, false);
  return {
    found: {
      ...own,
      namespace: place.found === undefined ? undefined : parseLatchkeyMetadata(place.found),
      secrets: outbox.found.map(parseLatchkeyMetadata),
      reports: reports.found.map((raw) => parseReport(stringMapAt(raw, "data")[reportKey] ?? "")),
      ...renewalIn(lease.found),
    },
    missing: [place, lease, outbox, reports].flatMap(({ missing }) => missing),
  };
}
