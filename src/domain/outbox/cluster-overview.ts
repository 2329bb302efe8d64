import { knownReason, reasons } from "../../api/conditions.ts";
import { annotations, labels } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import type { ClusterFigures, ReasonAndMessage, Verdict } from "../../api/report.ts";
import { instantOf } from "../lifetime.ts";
import { type ClusterReport, isWell, type SourceReport } from "./cluster-report.ts";
import { isOutboxOf } from "./connected-clusters.ts";
import type { ConnectedCluster } from "./consents.ts";
import { outboxNamespace } from "./outbox-names.ts";

/** What there is of a cluster in the central cluster. */
export interface ObservedCluster {
  readonly name: string;
  /** Undefined if no Secret connects a cluster of this name. */
  readonly connected: ConnectedCluster | undefined;
  /** The metadata of the namespace with the name of its outbox. */
  readonly namespace: Metadata | undefined;
  /** The metadata of the Secrets of its outbox. */
  readonly secrets: readonly Metadata[];
  readonly reports: readonly ClusterReport[];
  /** When its agent renewed its Lease, in milliseconds since the epoch; undefined for never. */
  readonly renewedAt: number | undefined;
}

/** Milliseconds without a heartbeat after which an agent counts as unreachable. */
export const silentAfterMs = 90_000;

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
      ...{ state: "problem", reason: "ClusterUnknown" },
      message:
        `No Secret connects cluster "${name}", which still has an outbox; ` +
        `run kubectl latchkey cluster disconnect ${name}.`,
    };
  const obstacle = outboxObstacle(observed) ?? agentObstacle(observed, now);
  const isClosed = connected.projects.length === 0;
  if (obstacle?.reason === "OutboxMissing" && isClosed) return { state: "info", ...obstacle };
  if (obstacle !== undefined) return { state: "problem", ...obstacle };
  return isClosed
    ? {
        ...{ state: "info", reason: "ProjectNotLetIn" },
        message:
          `Cluster "${name}" lets no project in; ` +
          `run kubectl latchkey cluster connect ${name} --projects=<names>.`,
      }
    : { state: "ok", reason: "Synced", message: `The agent of cluster "${name}" reports.` };
}

/** Why a connected cluster can get nothing at all; undefined if it has an outbox. */
export function outboxObstacle({
  name,
  connected,
  namespace,
}: ObservedCluster): ReasonAndMessage | undefined {
  const hasOutbox = connected !== undefined && namespace !== undefined;
  if (hasOutbox && isOutboxOf(namespace, connected)) return undefined;
  const place = `Namespace "${outboxNamespace(name)}"`;
  const connect = `run kubectl latchkey cluster connect ${name}`;
  const message =
    namespace === undefined
      ? `${place} does not exist; ${connect}.`
      : `${place} is not the outbox of this connection; ${connect} --replace.`;
  return { reason: "OutboxMissing", message };
}

/** Why the agent of a cluster writes nothing, or is not heard; undefined if it works. */
export function agentObstacle(
  { name, reports, renewedAt }: Pick<ObservedCluster, "name" | "reports" | "renewedAt">,
  now: number,
): ReasonAndMessage | undefined {
  const agent = `The agent of cluster "${name}"`;
  if (renewedAt === undefined)
    return {
      reason: "ClusterUnreachable",
      message: `${agent} has never reported; apply the manifest of cluster connect, and start it.`,
    };
  if (now - renewedAt > silentAfterMs)
    return {
      reason: "ClusterUnreachable",
      message:
        `${agent} has not reported for ${silentAfterMs / 1000} s or longer; ` +
        "look at its log in the connected cluster.",
    };
  const problem = reports.find((report) => report.problem !== undefined)?.problem;
  if (problem === undefined) return undefined;
  const reason = knownReason(problem.reason, "Failed");
  return { reason, message: `${agent} writes nothing: ${problem.message || reasons[reason]}` };
}

/** Whole seconds since an instant, none for one that is ahead of this clock. */
export function secondsSince(instant: number, now: number): number {
  return Math.max(0, Math.round((now - instant) / 1000));
}
