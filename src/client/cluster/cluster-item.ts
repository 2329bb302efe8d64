import type { ClusterFigures, ReportItem } from "../../api/report.ts";
import {
  clusterFigures,
  clusterState,
  type ObservedCluster,
} from "../../domain/outbox/cluster-overview.ts";
import { spanText } from "../../domain/lifetime.ts";
import { clusterObject, shown } from "../../domain/outbox/explain-cluster.ts";

/** The item of a connected cluster, with its figures. */
export interface ClusterItem extends ReportItem {
  readonly cluster: ClusterFigures;
}

/** What a report says of a connected cluster at `now`. */
export function clusterItem(observed: ObservedCluster, now: number): ClusterItem {
  const { state, reason, message } = clusterState(observed, now);
  return {
    object: clusterObject(observed.name),
    state,
    reason,
    message,
    causes: [],
    cluster: clusterFigures(observed, now),
  };
}

/** The figures of a connected cluster as the end of a line. */
export function figuresText({ cluster }: ClusterItem): string {
  const { heartbeatAge, offered, synced, withdrawals, unseenAge } = cluster;
  const verb = withdrawals === 1 ? "waits" : "wait";
  return [
    heartbeatAge === undefined ? "no heartbeat" : `heartbeat ${spanText(heartbeatAge)} ago`,
    `${synced} of ${shown(offered, "SharedSecret")} synced`,
    ...(withdrawals === 0 ? [] : [`${shown(withdrawals, "withdrawal")} ${verb}`]),
    ...(unseenAge === undefined
      ? []
      : [`a revision of ${spanText(unseenAge)} ago is not reported`]),
  ].join(", ");
}
