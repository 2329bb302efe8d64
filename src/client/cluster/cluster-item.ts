import type { ClusterFigures, ReportItem } from "../../api/report.ts";
import { clusterFigures, clusterState } from "../../domain/outbox/cluster-overview.ts";
import { spanText } from "../../domain/lifetime.ts";
import { clusterObject, shown } from "../../domain/outbox/explain-cluster.ts";
import { timestamp } from "../../domain/plan/conditions.ts";
import { asSentence } from "../report.ts";
import { clusterCredential } from "./credential-items.ts";
import type { ReadCluster } from "./read-clusters.ts";

/** The item of a connected cluster, with its figures. */
export interface ClusterItem extends ReportItem {
  readonly cluster: ClusterFigures;
}

/**
 * What a report says of a connected cluster at `now`. If the credential of the gateway ends soon,
 * that is its state, unless it has a problem.
 */
export function clusterItem({ access, ...observed }: ReadCluster, now: number): ClusterItem {
  const { name } = observed;
  const own = clusterState(observed, now);
  const end = access && clusterCredential(name, access, now);
  const isDue = end !== undefined && end.state !== "ok";
  const said = isDue && own.state !== "problem" ? end : own;
  const messages = isDue && said === own ? [own, end] : [said];
  const endsAt = end?.endsAt === undefined ? "none" : timestamp(end.endsAt);
  return {
    object: clusterObject(name),
    state: said.state,
    reason: said.reason,
    message: messages.map(({ message }) => asSentence(message)).join(" "),
    causes: [],
    cluster: {
      ...clusterFigures(observed, now),
      ...(end === undefined ? {} : { credentialEnd: endsAt }),
    },
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
