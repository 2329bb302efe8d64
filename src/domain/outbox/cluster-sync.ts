import { type ConditionUpdate, knownReason, type Reason } from "../../api/conditions.ts";
import { annotations } from "../../api/names.ts";
import { isSame } from "../plan/merge-patch.ts";
import { quoted } from "../report-object.ts";
import type { Source } from "../sync/copy.ts";
import { leftoverReason } from "../sync/leftover.ts";
import type { SyncOptions } from "../sync/sync-options.ts";
import {
  isRemovalBlocked,
  type ObservedClusterSync,
  obstacleIn,
  obstacleMessage,
  obstacleText,
  outboxObstacle,
} from "./cluster-obstacle.ts";
import { type SourceReport, withoutMessage } from "./cluster-report.ts";
import { offerTo } from "./consents.ts";

/** What a source has in one connected cluster, as its status says it. */
export interface ClusterSync extends Omit<SourceReport, "seen"> {
  readonly name: string;
}

/** What a source has in all connected clusters that it names. */
export interface ClusterSummary {
  /**
   * At most 20: what cannot be removed first, then what failed, what is in progress, what has no
   * target, and what is well; by name.
   */
  readonly clusters: readonly ClusterSync[];
  readonly counts: { readonly named: number; readonly synced: number };
}

/** The same, and the number of clusters that have an outbox and let the source in. */
export interface OfferedSummary extends ClusterSummary {
  readonly offered: number;
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
 * What the status of a source says of the clusters that it names, or that cannot remove what it had
 * there; if it names no project, only of the latter.
 */
export function summarizeClusters(
  source: Source,
  observed: readonly ObservedClusterSync[],
): OfferedSummary {
  const { problem, projects } = source.options;
  const isAsked = problem !== undefined || projects.length > 0;
  const clusters = observed
    .filter((cluster) => isAsked || isRemovalBlocked(cluster))
    .map((cluster) => clusterSync(source, cluster));
  return {
    clusters: clusters.sort(byTrouble).slice(0, mostClusters),
    counts: {
      named: clusters.length,
      synced: clusters.filter(({ reason }) => reason === undefined).length,
    },
    offered: observed.filter((cluster) => isOffered(source, cluster)).length,
  };
}

function byTrouble(one: ClusterSync, other: ClusterSync): number {
  return rank(one) - rank(other) || (one.name < other.name ? -1 : 1);
}

function rank({ reason }: ClusterSync): number {
  if (reason === leftoverReason) return 0;
  if (reason === undefined) return 4;
  return reason === "NoTargets" ? 3 : reason === "Progressing" ? 2 : 1;
}

const nothing = { desired: 0, synced: 0, conflicts: 0, failed: 0 } as const;

function clusterSync(source: Source, observed: ObservedClusterSync): ClusterSync {
  const { name, report } = observed;
  const kind = obstacleIn(source, observed);
  const { desired, synced, conflicts, failed } =
    report !== undefined && isOffered(source, observed) ? report : nothing;
  const counts = { name, desired, synced, conflicts, failed };
  if (kind === undefined) return counts;
  const text = obstacleText(kind, { ...observed, source });
  const message = obstacleMessage(text).slice(0, longestMessage).toWellFormed();
  return { ...counts, reason: text.reason, message };
}

/** Whether counts are about what is offered, or was offered until the source became invalid. */
function isOffered(source: Source, observed: ObservedClusterSync): boolean {
  const { connected } = observed;
  if (connected === undefined || outboxObstacle(observed) !== undefined) return false;
  return source.options.problem !== undefined || offerTo(source, connected).kind === "offered";
}

/** What a status says of clusters, and of which state of the source. */
export interface StatedClusters {
  readonly summary: OfferedSummary;
  readonly generation: number;
  readonly options: SyncOptions;
  /** Since when, in monotonic milliseconds. */
  readonly since: number;
}

/** Least time between two changes of what a status says of the clusters of an unchanged source. */
const paceMs = 10_000;

/**
 * What the status of a source says of its clusters at `now`, after `last`: another state of the
 * source and a consent that was given or taken at once, other counts at most once in 10 s, because
 * a fan-out in many clusters reports its progress many times. `changesAt` is when it may say what
 * it does not say yet. Both are monotonic.
 */
export function statedClusters(
  { secret, options }: Source,
  summary: OfferedSummary,
  { last, now }: { readonly last: StatedClusters | undefined; readonly now: number },
): { readonly stated: StatedClusters; readonly changesAt?: number } {
  const { generation } = secret.metadata;
  if (last?.generation === generation && isSame(last.options, options)) {
    if (haveSameCounts(last.summary, summary)) return { stated: last };
    const changesAt = last.since + paceMs;
    const isOfferedAsBefore = last.summary.offered === summary.offered;
    if (now < changesAt && isOfferedAsBefore) return { stated: last, changesAt };
  }
  return { stated: { summary, generation, options, since: now } };
}

/**
 * Whether two summaries have the same counts and reasons: a status is not written for another
 * sentence alone.
 */
function haveSameCounts(one: ClusterSummary, other: ClusterSummary): boolean {
  const listed = ({ clusters }: ClusterSummary) => clusters.map(withoutMessage);
  return isSame(one.counts, other.counts) && isSame(listed(one), listed(other));
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
  const problem = options.problem ?? options.refusal;
  if (problem !== undefined) return condition("False", problem.reason, problem.message);
  const message = `${counts.synced} of ${counts.named} connected clusters are synced`;
  const why = `${message}, first: cluster ${quoted(first?.name ?? "")}: ${first?.message ?? ""}`;
  if (first?.reason === leftoverReason) return condition("False", leftoverReason, why);
  if (options.projects.length === 0) {
    const notNamed = `annotation ${annotations.syncToProjects} names no project`;
    return condition(options.clusters.length === 0 ? "True" : "False", "NotRequested", notNamed);
  }
  if (options.paused) {
    const paused = `annotation ${annotations.disableSync} is "true", so sync is paused`;
    return condition("False", "Paused", paused);
  }
  if (first?.reason === undefined) return condition("True", "Synced", message);
  // What has no namespace there is only counted if there is one elsewhere.
  if (first.reason === "NoTargets")
    return counts.synced > 0
      ? condition("True", "Synced", `${message}, the others have no target`)
      : condition("False", "NoTargets", why);
  const reason = knownReason(first.reason, first.conflicts > 0 ? "Conflict" : "Failed");
  return condition("False", reason, why);
}
