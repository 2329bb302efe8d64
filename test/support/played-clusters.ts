import { labels, ownObjects } from "../../src/api/names.ts";
import { listAt, recordAt, stringMapAt } from "../../src/api/parse.ts";
import { type Resource, resources } from "../../src/api/resources.ts";
import {
  emptyReport,
  reportKey,
  reportText,
  type SourceReport,
} from "../../src/domain/outbox/cluster-report.ts";
import {
  outboxNamespace,
  reportName,
  reportNumberOf,
} from "../../src/domain/outbox/outbox-names.ts";
import {
  clusterSecretObject,
  clustersNamespaceObject,
  type OutboxObject,
  outboxNamespaceObject,
  outboxObjects,
} from "../../src/domain/outbox/outbox-objects.ts";
import { collectionPath, objectPath } from "../../src/kube/client/paths.ts";
import { type BareClient, patch, post } from "./bare-client.ts";
import { metadataOf, secretPath, sharedSecretPath } from "./bench-objects.ts";

const heartbeatMs = 10_000;

/** Connects clusters of these names with a bare client; each lets one project in. */
export async function connectClusters(
  admin: BareClient,
  names: readonly string[],
  project: string,
): Promise<void> {
  // Another part may have made it.
  await create(admin, clustersNamespaceObject).catch(() => {});
  for (const name of names) {
    const { uid } = metadataOf(await create(admin, clusterSecretObject(name, project)));
    await create(admin, outboxNamespaceObject({ name, uid }));
    for (const object of outboxObjects(name))
      if (!isQuota(object.resource)) await create(admin, object);
  }
}

/** Without kube-controller-manager, a quota refuses everything in its namespace. */
const isQuota = (resource: Resource): boolean => resource === resources.resourceQuotas;

function create(admin: BareClient, { resource, manifest }: OutboxObject): Promise<unknown> {
  return admin.ask(post(collectionPath(resource, manifest.metadata.namespace), manifest));
}

/** Ends the access of clusters; the controller then empties their outboxes. */
export async function disconnectClusters(
  admin: BareClient,
  names: readonly string[],
): Promise<void> {
  for (const name of names)
    await admin.send({ method: "DELETE", path: secretPath("latchkey-clusters", name) });
}

/** Renews the Leases of agents that a bare client plays, until it is called again. */
export async function playHeartbeats(
  admin: BareClient,
  names: readonly string[],
): Promise<() => void> {
  const beat = async (): Promise<void> => {
    const spec = {
      holderIdentity: "played",
      renewTime: new Date().toISOString().replace("Z", "000Z"),
    };
    for (const name of names) {
      const ref = { namespace: outboxNamespace(name), name: ownObjects.agentLease };
      await admin.send(patch(objectPath(resources.leases, ref), { spec }));
    }
  };
  await beat();
  const timer = setInterval(() => void beat().catch(() => {}), heartbeatMs);
  return () => clearInterval(timer);
}

/** Reports for a cluster that everything in its outbox has arrived, as its agent would. */
export async function playReports(admin: BareClient, name: string): Promise<void> {
  const namespace = outboxNamespace(name);
  const counts = { desired: 1, synced: 1, conflicts: 0, failed: 0 };
  const sources = (await offersOf(admin, name)).map((secret): readonly [string, SourceReport] => [
    stringMapAt(recordAt(secret, "metadata"), "labels")[labels.outboxUid] ?? "",
    { ...counts, seen: metadataOf(secret).resourceVersion },
  ]);
  for (const [number, reported] of Map.groupBy(sources, ([uid]) => reportNumberOf(uid))) {
    const path = objectPath(resources.configMaps, { namespace, name: reportName(number) });
    const text = reportText({ ...emptyReport, sources: new Map(reported) });
    await admin.send(patch(path, { data: { [reportKey]: text } }));
  }
}

/** Number of SharedSecrets in a namespace whose status says that they are synced in so many clusters. */
export async function countSynced(
  admin: BareClient,
  namespace: string,
  clusters: number,
): Promise<number> {
  const synced = (source: unknown): unknown => {
    const sync = recordAt(recordAt(source, "status"), "sync");
    return recordAt(sync, "clusterCounts")["synced"];
  };
  const sources = listAt(await admin.get(sharedSecretPath(namespace)), "items");
  return sources.filter((source) => synced(source) === clusters).length;
}

/** Only Secrets of outboxes. */
export const offersOnly = `labelSelector=${encodeURIComponent(labels.outboxUid)}`;

/** The Secrets in the outbox of a cluster. */
export async function offersOf(admin: BareClient, name: string): Promise<readonly unknown[]> {
  return listAt(await admin.get(`${secretPath(outboxNamespace(name))}?${offersOnly}`), "items");
}
