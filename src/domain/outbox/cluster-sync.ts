import { type ConditionUpdate, knownReason, type Reason } from "../../api/conditions.ts";
import { annotations } from "../../api/names.ts";
import type { ReasonAndMessage } from "../../api/report.ts";
import { isSame } from "../plan/merge-patch.ts";
import { quoted } from "../report-object.ts";
import type { Source } from "../sync/copy.ts";
import { isWell, type SourceReport } from "./cluster-report.ts";
import { type ConnectedCluster, offerTo } from "./consents.ts";
import type { OutboxState } from "./outbox-table.ts";

/** What a source has in one connected cluster, as its status says it. */
export interface ClusterSync {
  readonly name: string;
  readonly desired: number;
  readonly synced: number;
  readonly conflicts: number;
  readonly failed: number;
  /** Absent if every target of the cluster is synced. */
  readonly reason?: string;
  readonly message?: string;
}

/** What a source has in all connected clusters that it names. */
export interface ClusterSummary {
  /** At most 20: what failed first, then what is in progress, then what is well; by name. */
  readonly clusters: readonly ClusterSync[];
  readonly counts: { readonly named: number; readonly synced: number };
}

/** What is known of a source in a cluster that it names. */
export type ObservedClusterSync =
  /** No connected cluster has the name. */
  | { readonly kind: "unknown"; readonly name: string }
  /** The cluster has no namespace with the uid of its Secret. */
  | { readonly kind: "no-outbox"; readonly name: string }
  | {
      readonly kind: "connected";
      readonly cluster: ConnectedCluster;
      readonly state: OutboxState;
      /** The resourceVersion of the Secret in the outbox, if it exists. */
      readonly resourceVersion?: string | undefined;
      /** The last rejected write of that Secret. */
      readonly failure?: ReasonAndMessage | undefined;
      /** What the agent reports of the source. */
      readonly report?: SourceReport | undefined;
      readonly agent: ObservedAgent;
    };

/** What is known of the agent of a cluster. */
export interface ObservedAgent {
  /** Whether its heartbeat is older than 90 s, or missing. */
  readonly isUnreachable: boolean;
  /** Why it writes nothing, from its first report. */
  readonly problem?: ReasonAndMessage | undefined;
}

/** The clusters that a source names: those of its list, or all of these. */
export function namedClusters({ options }: Source, all: Iterable<string>): readonly string[] {
  return options.clusters.includes("*")
    ? [...new Set([...options.clusters.filter((name) => name !== "*"), ...all])]
    : [...new Set(options.clusters)];
}

const longestMessage = 256;

/** Maximum clusters that a status lists; the others are only counted. */
const mostClusters = 20;

/**
 * What the status of a source says of the clusters that it names; nothing of them if it names no
 * project.
 */
export function summarizeClusters(
  source: Source,
  observed: readonly ObservedClusterSync[],
): ClusterSummary {
  const { problem, projects } = source.options;
  const isAsked = problem !== undefined || projects.length > 0;
  const clusters = isAsked ? observed.map((cluster) => clusterSync(source, cluster)) : [];
  return {
    clusters: clusters.sort(byTrouble).slice(0, mostClusters),
    counts: {
      named: clusters.length,
      synced: clusters.filter(({ reason }) => reason === undefined).length,
    },
  };
}

function byTrouble(one: ClusterSync, other: ClusterSync): number {
  return rank(one) - rank(other) || (one.name < other.name ? -1 : 1);
}

function rank({ reason }: ClusterSync): number {
  return reason === undefined ? 2 : reason === "Progressing" ? 1 : 0;
}

const nothing = { desired: 0, synced: 0, conflicts: 0, failed: 0 } as const;

function clusterSync(source: Source, observed: ObservedClusterSync): ClusterSync {
  const { name } = observed.kind === "connected" ? observed.cluster : observed;
  const trouble = troubleIn(source, observed);
  const { desired, synced, conflicts, failed } =
    (observed.kind === "connected" && offers(source, observed) && observed.report) || nothing;
  const counts = { name, desired, synced, conflicts, failed };
  if (trouble === undefined) return counts;
  const { reason, message } = trouble;
  return { ...counts, reason, message: message.slice(0, longestMessage).toWellFormed() };
}

type Connected = Extract<ObservedClusterSync, { readonly kind: "connected" }>;

/** Whether counts are about what is offered, or was offered until the source became invalid. */
function offers(source: Source, { cluster }: Connected): boolean {
  return source.options.problem !== undefined || offerTo(source, cluster).kind === "offered";
}

/** Why not every target of a cluster is synced; undefined if all of them are. */
function troubleIn(source: Source, observed: ObservedClusterSync): ReasonAndMessage | undefined {
  if (source.options.problem !== undefined) return source.options.problem;
  switch (observed.kind) {
    case "unknown":
      return said("ClusterUnknown", `no connected cluster has the name ${quoted(observed.name)}`);
    case "no-outbox": {
      const fix = `run kubectl latchkey cluster connect ${observed.name}`;
      return said("OutboxMissing", `the cluster has no outbox; ${fix}`);
    }
    case "connected":
      return offers(source, observed) ? outboxTrouble(observed) : notLetIn(observed);
  }
}

function notLetIn({ cluster }: Connected): ReasonAndMessage {
  const message =
    `annotation ${annotations.projects} of the Secret of cluster ${quoted(cluster.name)} ` +
    `names no project that ${annotations.syncToProjects} matches`;
  return said("ProjectNotLetIn", message);
}

/** What keeps the outbox from having the offer, or the cluster from having the copies. */
function outboxTrouble(observed: Connected): ReasonAndMessage | undefined {
  const { state, failure } = observed;
  if (state.kind === "current") return reportedTrouble(observed);
  if (state.kind === "full")
    return said("OutboxFull", "the outbox of the cluster has the maximum of bytes");
  if (state.kind === "conflict")
    return said("Conflict", "a Secret in the outbox is not managed by Latchkey; delete it");
  return failure ?? said("Progressing", "the Secret in the outbox is being written");
}

function reportedTrouble({
  report,
  resourceVersion,
  agent,
}: Connected): ReasonAndMessage | undefined {
  const isHeard = report !== undefined && report.seen === resourceVersion;
  if (isHeard && isWell(report)) return undefined;
  if (agent.isUnreachable)
    return said(
      "ClusterUnreachable",
      "the agent of the cluster has not reported for 90 s or longer; check it and its connection",
    );
  if (agent.problem !== undefined) return agent.problem;
  if (!isHeard) return said("Progressing", "the agent of the cluster has not reported yet");
  const { conflicts, failed, reason, message = "" } = report;
  const counted = conflicts > 0 ? "Conflict" : failed > 0 ? "Failed" : "Progressing";
  return { reason: reason ?? counted, message };
}

function said(reason: Reason, message: string): ReasonAndMessage {
  return { reason, message };
}

/**
 * Whether two summaries have the same counts and reasons: a status is not written for another
 * sentence alone.
 */
export function haveSameCounts(one: ClusterSummary, other: ClusterSummary): boolean {
  const listed = ({ clusters }: ClusterSummary) => clusters.map(withoutMessage);
  return isSame(one.counts, other.counts) && isSame(listed(one), listed(other));
}

function withoutMessage(cluster: ClusterSync): Omit<ClusterSync, "message"> {
  const { message: _, ...others } = cluster;
  return others;
}

/**
 * The condition ClustersSynced of a source, from what its status says: reasons that an agent made
 * up are not passed on.
 */
export function clustersCondition(
  { options }: Source,
  { clusters: [first], counts }: ClusterSummary,
): ConditionUpdate {
  const condition = (
    status: "True" | "False",
    reason: Reason,
    message: string,
  ): ConditionUpdate => ({ type: "ClustersSynced", status, reason, message });
  if (options.problem !== undefined)
    return condition("False", options.problem.reason, options.problem.message);
  if (options.projects.length === 0) {
    const message = `annotation ${annotations.syncToProjects} names no project`;
    return condition("True", "NotRequested", message);
  }
  if (options.paused) {
    const message = `annotation ${annotations.disableSync} is "true", so sync is paused`;
    return condition("False", "Paused", message);
  }
  const message = `${counts.synced} of ${counts.named} connected clusters are synced`;
  if (first?.reason === undefined) return condition("True", "Synced", message);
  const why = `first: cluster ${quoted(first.name)}: ${first.message ?? ""}`;
  const reason = knownReason(first.reason, first.conflicts > 0 ? "Conflict" : "Failed");
  return condition("False", reason, `${message}, ${why}`);
}
