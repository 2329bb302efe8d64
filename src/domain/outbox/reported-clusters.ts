import { listAt, numberAt, recordAt, stringAt } from "../../api/parse.ts";
import type { ReportItem, ReportObject } from "../../api/report.ts";
import type { ClusterSync } from "./cluster-sync.ts";
import { clusterObject, shown } from "./explain-cluster.ts";

/**
 * What the status of a source says of a cluster, for a user who may not read what decides there.
 */
export function reportedCluster(source: ReportObject, entry: ClusterSync): ReportItem {
  const { name, desired, synced, reason, message } = entry;
  const counts = `${synced} of ${shown(desired, "target")} there synced`;
  const object = clusterObject(name);
  if (reason === undefined)
    return { object, source, state: "ok", reason: "Arrives", message: `${counts}.`, causes: [] };
  const state = reason === "Progressing" ? "unknown" : reason === "NoTargets" ? "info" : "problem";
  const said = message === undefined ? "" : `: ${message}`;
  return { object, source, state, reason, message: `${counts}${said}`, causes: [] };
}

/** The clusters in the status of a SharedSecret, at most 20. */
export function listedClusters(status: Readonly<Record<string, unknown>>): readonly ClusterSync[] {
  return listAt(recordAt(status, "sync"), "clusters").map((entry) => {
    const count = (field: string): number => Math.max(0, numberAt(entry, field) ?? 0);
    const [reason, message] = [stringAt(entry, "reason"), stringAt(entry, "message")];
    return {
      name: stringAt(entry, "name") ?? "",
      desired: count("desired"),
      synced: count("synced"),
      conflicts: count("conflicts"),
      failed: count("failed"),
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
    };
  });
}
