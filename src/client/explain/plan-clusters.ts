import { keyOf, type Metadata } from "../../api/object.ts";
import { parseLatchkeyMetadata } from "../../api/parse.ts";
import type { ReportItem } from "../../api/report.ts";
import { clusterOfSecret, clustersNamespace } from "../../domain/gateway/connected-cluster.ts";
import { connectedCluster, secretsByCluster } from "../../domain/outbox/connected-clusters.ts";
import type { ConnectedCluster } from "../../domain/outbox/consents.ts";
import { clusterObject } from "../../domain/outbox/explain-cluster.ts";
import { offerChanges, sourcesByKey } from "../../domain/outbox/offer-changes.ts";
import type { Source } from "../../domain/sync/copy.ts";
import type { ObjectChange } from "../../domain/sync/plan-change.ts";
import { readClusterSecrets } from "../cluster/cluster-secret.ts";
import type { Cluster } from "../connection/cluster.ts";
import type { Readable } from "../missing-right.ts";
import type { AppliedManifest } from "./plan-apply.ts";

/** What files change, and what was there before. */
interface ChangedConsents {
  readonly applied: readonly AppliedManifest[];
  readonly changes: readonly ObjectChange[];
  readonly before: readonly Source[];
}

/** What connected clusters gain and lose, and which named ones do not exist. */
interface ClusterPlan {
  readonly changes: readonly ReportItem[];
  readonly notes: readonly ReportItem[];
}

const nothing: ClusterPlan = { changes: [], notes: [] };

/**
 * What connected clusters gain and lose by files. The clusters are read only if a changed
 * SharedSecret names one, or a file has the Secret of one.
 */
export async function clusterChanges(
  { applied, changes, before }: ChangedConsents,
  cluster: Cluster,
): Promise<Readable<ClusterPlan>> {
  const former = sourcesByKey(before);
  const changed = changes.flatMap(({ kind, after }) =>
    kind === "SharedSecret" && after !== undefined ? [after] : [],
  );
  const later = sourcesByKey([...before, ...changed]);
  const own = applied.flatMap(clusterSecretOf);
  const isConcerned = ({ secret: { metadata }, options }: Source): boolean =>
    [options, former.get(keyOf(metadata))?.options].some((one) => (one?.clusters.length ?? 0) > 0);
  if (own.length === 0 && !changed.some(isConcerned)) return { found: nothing, missing: [] };
  const secrets = await readClusterSecrets(cluster);
  if (secrets.missing.length > 0) return { found: nothing, missing: secrets.missing };
  const isReplaced = ({ name }: Metadata): boolean => own.some((one) => one.name === name);
  const replaced = [...secrets.found.filter((one) => !isReplaced(one)), ...own];
  const [clusters, clustersAfter] = [clustersIn(secrets.found), clustersIn(replaced)];
  const offers = offerChanges(
    { sources: former, clusters },
    { sources: later, clusters: clustersAfter },
  );
  const unknown = changed
    .flatMap(({ options }) => options.clusters)
    .filter((name) => name !== "*" && !clustersAfter.has(name));
  const notes = [...new Set(unknown)].map(unknownItem);
  return { found: { changes: offers, notes }, missing: [] };
}

function clusterSecretOf({ kind, ref, object }: AppliedManifest): readonly Metadata[] {
  if (kind !== "Secret" || ref.namespace !== clustersNamespace) return [];
  const metadata = parseLatchkeyMetadata(object);
  return clusterOfSecret(metadata) === undefined ? [] : [metadata];
}

function clustersIn(secrets: readonly Metadata[]): ReadonlyMap<string, ConnectedCluster> {
  const found = [...secretsByCluster(secrets).values()].flatMap(
    (secret) => connectedCluster(secret) ?? [],
  );
  return new Map(found.map((one) => [one.name, one]));
}

function unknownItem(name: string): ReportItem {
  const message = `No cluster "${name}" is connected, so nothing is offered to it.`;
  const reason = "ClusterUnknown";
  return { object: clusterObject(name), state: "info", reason, message, causes: [] };
}
