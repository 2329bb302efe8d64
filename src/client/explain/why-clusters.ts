import { recordAt } from "../../api/parse.ts";
import type { ReportItem } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { explainCluster } from "../../domain/outbox/explain-cluster.ts";
import { listedClusters, reportedCluster } from "../../domain/outbox/reported-clusters.ts";
import { reportObject } from "../../domain/report-object.ts";
import type { Source } from "../../domain/sync/copy.ts";
import { readNamedClusters } from "../cluster/read-clusters.ts";
import type { Cluster } from "../connection/cluster.ts";
import type { Readable } from "../missing-right.ts";

/** A SharedSecret as it was read, and the cluster that is asked about: all named ones without. */
interface AskedClusters {
  readonly raw: unknown;
  readonly source: Source;
  readonly asked: string | undefined;
}

/**
 * Answers for a SharedSecret in connected clusters. For a user who may not read these, they come
 * from its status.
 */
export async function clusterItems(
  { raw, source, asked }: AskedClusters,
  { cluster, now }: { readonly cluster: Cluster; readonly now: number },
): Promise<Readable<readonly ReportItem[]>> {
  const listed = listedClusters(recordAt(raw, "status"));
  // A cluster that cannot remove what it had may not be named any more.
  const names =
    asked === undefined ? [...source.options.clusters, ...listed.map(({ name }) => name)] : [asked];
  if (names.length === 0) return { found: [], missing: [] };
  const { found, missing } = await readNamedClusters(names, cluster);
  const items = found.flatMap((observed) => explainCluster(source, observed, now) ?? []);
  if (missing.length === 0) return { found: items, missing };
  const object = reportObject(resources.sharedSecrets.kind, source.secret.metadata);
  const reported = listed
    .filter(({ name }) => asked === undefined || name === asked)
    .map((entry) => reportedCluster(object, entry));
  return { found: reported, missing: reported.length === 0 ? missing : [] };
}
