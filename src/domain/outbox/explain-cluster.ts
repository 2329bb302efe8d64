import { knownReason } from "../../api/conditions.ts";
import { annotations } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import type { ReportItem, ReportObject } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { instantOf } from "../lifetime.ts";
import { reportObject } from "../report-object.ts";
import type { Source } from "../sync/copy.ts";
import {
  agentObstacle,
  type ObservedClusterSync,
  obstacleIn,
  obstacleText,
} from "./cluster-obstacle.ts";
import { agentOf, currentReport, type ObservedCluster, secondsSince } from "./cluster-overview.ts";
import { isWell, type SourceReport } from "./cluster-report.ts";
import { outboxName } from "./outbox-names.ts";

/** A connected cluster as an object of reports. */
export function clusterObject(name: string): ReportObject {
  return { kind: "Cluster", name };
}

/**
 * Why a source has, or does not have, its data in a cluster, at `now`: the first obstacle of the
 * central cluster, of the agent, and then what the agent reports. Undefined if the source itself is
 * the obstacle, which its own item explains.
 */
export function explainCluster(
  source: Source,
  observed: ObservedCluster,
  now: number,
): ReportItem | undefined {
  const seen = syncIn(source, observed, now);
  const { report, secret, agent } = seen;
  const first = obstacleIn(source, seen);
  // Namespaces that ask now are not known of an agent that is not heard.
  const kind = first === "no-targets" ? (agentObstacle(agent) ?? first) : first;
  if (kind === "source-deleting" || kind === "source-invalid") return undefined;
  const subject = {
    object: clusterObject(observed.name),
    source: reportObject(resources.sharedSecrets.kind, source.secret.metadata),
  };
  if (report !== undefined && (kind === undefined || kind === "not-everywhere"))
    return { ...subject, ...reported(report), causes: [] };
  const { reason, fact, cause } = obstacleText(kind ?? "not-reported", { ...seen, source });
  const revised = instantOf(secret?.annotations[annotations.revisedAt]);
  const age =
    kind === "not-reported" && revised !== undefined
      ? `, which is ${secondsSince(revised, now)} s old`
      : "";
  return {
    ...subject,
    reason,
    message: `${fact}${age}`,
    state: stateAt(source, observed.name, reason),
    causes: cause === undefined ? [] : [{ ...cause, reason }],
  };
}

/** A cluster that only `*` names does not have to have a target. */
function stateAt({ options }: Source, name: string, reason: string): ReportItem["state"] {
  if (reason === "Progressing") return "unknown";
  return reason === "NoTargets" && !options.clusters.includes(name) ? "info" : "problem";
}

function syncIn(source: Source, observed: ObservedCluster, now: number): ObservedClusterSync {
  const { name, connected, similar, namespace, secrets, reports } = observed;
  const secret = secrets.find((one) => one.name === outboxName(source.secret.metadata));
  return {
    name,
    connected,
    similar,
    namespace,
    secret,
    agent: agentOf(observed, now),
    state: secret === undefined ? "missing" : stateOf(secret),
    report: secret === undefined ? undefined : currentReport(secret, reports),
  };
}

/** Whether its data is that of the source is not known without a right to read it. */
function stateOf(secret: Metadata): "waiting" | "current" {
  return secret.annotations[annotations.withdrawn] === undefined ? "current" : "waiting";
}

/** What an agent reports of a source. */
function reported(report: SourceReport): Pick<ReportItem, "state" | "reason" | "message"> {
  const { desired, synced, conflicts, failed, message } = report;
  const counts = [
    `${synced} of ${shown(desired, "target")} there synced`,
    ...(conflicts === 0 ? [] : [shown(conflicts, "conflict")]),
    ...(failed === 0 ? [] : [`${failed} failed`]),
  ].join(", ");
  if (desired > 0 && isWell(report)) return { state: "ok", reason: "Arrives", message: counts };
  const reason = report.reason === undefined ? undefined : knownReason(report.reason, "Failed");
  return {
    state: reason === undefined ? "unknown" : "problem",
    reason: reason ?? "Progressing",
    message: `${counts}${message === undefined ? "" : `: ${message}`}`,
  };
}

/** A count with its noun, such as `2 targets`. */
export function shown(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
