import { annotations, labels } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import { listAt, recordAt, stringAt } from "../../api/parse.ts";
import type { ClusterFigures, ReasonAndMessage, ReportReason, Verdict } from "../../api/report.ts";
import { instantOf } from "../lifetime.ts";
import {
  agentObstacle,
  type ObservedAgent,
  type ObservedConnection,
  obstacleMessage,
  obstacleText,
  outboxObstacle,
} from "./cluster-obstacle.ts";
import { type ClusterReport, isWell, type SourceReport } from "./cluster-report.ts";

/** What there is of a cluster in the central cluster. */
export interface ObservedCluster extends ObservedConnection {
  /** The metadata of the Secrets of its outbox. */
  readonly secrets: readonly Metadata[];
  readonly reports: readonly ClusterReport[];
  /**
   * When its agent renewed its Lease, in milliseconds since the epoch by the clock of the central
   * API server; undefined for never.
   */
  readonly renewedAt: number | undefined;
  /** The same time by the clock of the agent. */
  readonly agentTime?: number | undefined;
  /** Whether there is an Event of the gateway that the cluster is throttled; it stays an hour. */
  readonly isThrottled?: boolean;
}

/** The reason of the Event with {@link throttledText}. */
export const throttledReason = "ClusterThrottled" satisfies ReportReason;

/** What the gateway says of a cluster that sends more than it reads of one cluster. */
export function throttledText(name: string): string {
  return (
    `Cluster "${name}" sends more than the gateway reads of one cluster, a tenth of its time, so ` +
    "scopes follow the labels of its namespaces later; find out what changes them so often"
  );
}

/** When an agent renewed its Lease, by both clocks; nothing for a Lease that it never renewed. */
export function renewalIn(lease: unknown): Pick<ObservedCluster, "renewedAt" | "agentTime"> {
  const agentTime = instantOf(stringAt(recordAt(lease, "spec"), "renewTime"));
  const writes = listAt(recordAt(lease, "metadata"), "managedFields").flatMap(
    (entry) => instantOf(stringAt(entry, "time")) ?? [],
  );
  const renewedAt = agentTime && writes.reduce((one, other) => Math.max(one, other), 0);
  return { renewedAt: renewedAt || agentTime, agentTime };
}

/** What a cluster was offered, and what its agent says, at `now`. */
export function clusterFigures(observed: ObservedCluster, now: number): ClusterFigures {
  const { connected, secrets, reports, renewedAt } = observed;
  const isWithdrawal = (secret: Metadata): boolean =>
    secret.annotations[annotations.withdrawn] !== undefined;
  const offers = secrets.filter((secret) => !isWithdrawal(secret));
  const reported = offers.map((secret) => currentReport(secret, reports));
  const unseen = offers
    .filter((_, at) => reported[at] === undefined)
    .map(({ annotations: marks, creationTimestamp }) =>
      instantOf(marks[annotations.revisedAt] ?? creationTimestamp),
    );
  const ages = unseen.map((at) => secondsSince(at ?? now, now));
  return {
    projects: connected?.projects ?? [],
    ...(renewedAt === undefined ? {} : { heartbeatAge: secondsSince(renewedAt, now) }),
    offered: offers.length,
    synced: reported.filter((report) => report !== undefined && isWell(report)).length,
    withdrawals: secrets.filter(isWithdrawal).length,
    ...(ages.length === 0 ? {} : { unseenAge: ages.reduce((most, age) => Math.max(most, age)) }),
  };
}

/** What an agent says of a source, if it is about the Secret that the outbox has now. */
export function currentReport(
  { labels: marks, resourceVersion }: Metadata,
  reports: readonly ClusterReport[],
): SourceReport | undefined {
  const uid = marks[labels.outboxUid] ?? "";
  return reports
    .flatMap(({ sources }) => sources.get(uid) ?? [])
    .find(({ seen }) => seen === resourceVersion);
}

/** The state of a cluster as a whole, the first problem alone. */
export function clusterState(
  observed: ObservedCluster,
  now: number,
): ReasonAndMessage & { readonly state: Verdict } {
  const { name, connected } = observed;
  if (connected === undefined)
    return {
      state: "problem",
      reason: "ClusterUnknown",
      message:
        observed.namespace === undefined
          ? `No connected cluster has the name "${name}"; correct the name, or run ` +
            `kubectl latchkey cluster connect ${name}.`
          : `No Secret connects cluster "${name}", which still has an outbox; ` +
            `run kubectl latchkey cluster disconnect ${name}.`,
    };
  const agent = agentOf(observed, now);
  const isClosed = connected.projects.length === 0;
  const obstacle = outboxObstacle(observed) ?? agentObstacle(agent);
  const isExpected = obstacle === "outbox-missing" && isClosed;
  if (observed.isThrottled === true && (obstacle === undefined || isExpected))
    return { state: "problem", reason: throttledReason, message: `${throttledText(name)}.` };
  if (obstacle !== undefined) {
    const text = obstacleText(obstacle, { ...observed, agent });
    const state = isExpected ? "info" : "problem";
    return { state, reason: text.reason, message: obstacleMessage(text) };
  }
  return isClosed
    ? {
        state: "info",
        reason: "ProjectNotLetIn",
        message:
          `Cluster "${name}" lets no project in; ` +
          `run kubectl latchkey cluster connect ${name} --projects=<names>.`,
      }
    : {
        state: "ok",
        reason: "Synced",
        message: `The agent of cluster "${name}" reports${aheadText(observed, now)}.`,
      };
}

/** Decides nothing: the clock of the agent is that of another administrator. */
function aheadText({ renewedAt = 0, agentTime = 0 }: ObservedCluster, now: number): string {
  const seconds = secondsSince(Math.min(renewedAt, now), agentTime);
  return seconds < 60 ? "" : `; its clock is ${seconds} s ahead of that of the API server`;
}

/** What is known of the agent of a cluster at `now`. */
export function agentOf({ reports, renewedAt }: ObservedCluster, now: number): ObservedAgent {
  return {
    ageMs: renewedAt === undefined ? undefined : now - renewedAt,
    problem: reports.find((report) => report.problem !== undefined)?.problem,
  };
}

/** Whole seconds since an instant, none for one that is ahead of this clock. */
export function secondsSince(instant: number, now: number): number {
  return Math.max(0, Math.round((now - instant) / 1000));
}
