import { knownReason } from "../../api/conditions.ts";
import { annotations, ownObjects } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import type {
  FieldFix,
  ReasonAndMessage,
  ReportContent,
  ReportItem,
  ReportObject,
} from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { clustersNamespace } from "../gateway/connected-cluster.ts";
import { instantOf } from "../lifetime.ts";
import { annotationField, nameOf, quoted, reportObject } from "../report-object.ts";
import type { Source } from "../sync/copy.ts";
import {
  agentObstacle,
  currentReport,
  type ObservedCluster,
  outboxObstacle,
  secondsSince,
} from "./cluster-overview.ts";
import { isWell, type SourceReport } from "./cluster-report.ts";
import { type ClusterObstacle, type ConnectedCluster, offerTo } from "./consents.ts";
import { outboxName, outboxNamespace } from "./outbox-names.ts";

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
  const about = { source, name: observed.name };
  const { connected } = observed;
  if (connected === undefined) return unknownItem(about);
  const offer = offerTo(source, connected);
  if (offer.kind === "withheld") return withheldItem(about, offer.obstacle, connected);
  const missing = outboxObstacle(observed);
  if (missing !== undefined) return outboxItem(about, missing, observed);
  const secret = observed.secrets.find((one) => one.name === outboxName(source.secret.metadata));
  const report = secret === undefined ? undefined : currentReport(secret, observed.reports);
  if (report !== undefined && report.desired > 0 && isWell(report))
    return itemOf(about, "ok", {
      ...{ reason: "Arrives", causes: [] },
      message: `${report.synced} of ${shown(report.desired, "target")} there synced.`,
    });
  const silent = agentObstacle(observed, now);
  if (silent !== undefined) return silentItem(about, silent);
  if (report !== undefined) return reportedItem(about, report);
  return pendingItem(about, secret, now);
}

/** A source in one cluster. */
interface About {
  readonly source: Source;
  /** The name of the cluster. */
  readonly name: string;
}

type Cause = FieldFix & { readonly object: ReportObject };

function itemOf(
  { source, name }: About,
  state: ReportItem["state"],
  content: ReportContent,
): ReportItem {
  return { object: clusterObject(name), source: sourceOf(source), state, ...content };
}

function problemItem(
  about: About,
  { reason, message }: ReasonAndMessage,
  cause: Cause,
): ReportItem {
  return itemOf(about, "problem", { reason, message, causes: [{ ...cause, reason }] });
}

function sourceOf({ secret: { metadata } }: Source): ReportObject {
  return reportObject(resources.sharedSecrets.kind, metadata);
}

/** A cause in an annotation of the source. */
function onSource({ source }: About, annotation: string, message: string): Cause {
  const value = source.secret.metadata.annotations[annotation];
  return { object: sourceOf(source), field: annotationField(annotation), value, message };
}

const { syncToClusters, syncToProjects } = annotations;

function unknownItem(about: About): ReportItem {
  const message = `No cluster "${about.name}" is connected.`;
  const fix = `Correct the list, or run kubectl latchkey cluster connect ${about.name}.`;
  const cause = onSource(about, syncToClusters, fix);
  return problemItem(about, { reason: "ClusterUnknown", message }, cause);
}

function withheldItem(
  about: About,
  obstacle: ClusterObstacle,
  { projects: letIn }: ConnectedCluster,
): ReportItem | undefined {
  const { source, name } = about;
  const owner = nameOf(sourceOf(source));
  const { projects } = source.options;
  switch (obstacle) {
    case "source-deleting":
    case "source-invalid":
      return undefined;
    case "cluster-not-named":
      return problemItem(
        about,
        {
          reason: "ClusterNotNamed",
          message: `annotation ${syncToClusters} of ${owner} does not name cluster "${name}".`,
        },
        onSource(about, syncToClusters, `Add "${name}" to the list.`),
      );
    case "no-project-named":
      return problemItem(
        about,
        {
          reason: "NotRequested",
          message: `annotation ${syncToProjects} of ${owner} names no project.`,
        },
        onSource(about, syncToProjects, "Name a project that the cluster lets in."),
      );
    case "projects-not-let-in":
      return problemItem(
        about,
        { reason: "ProjectNotLetIn", message: `Cluster "${name}" ${refusal(projects)}.` },
        {
          object: { kind: resources.secrets.kind, namespace: clustersNamespace, name },
          ...{ field: annotationField(annotations.projects), value: letIn.join(", ") || undefined },
          message:
            "An administrator can run " +
            `kubectl latchkey cluster connect ${name} --projects=<names>.`,
        },
      );
  }
}

function refusal(projects: readonly string[]): string {
  const named = projects.map(quoted).join(", ");
  return projects.length === 1
    ? `does not let project ${named} in`
    : `does not let any of the projects ${named} in`;
}

function outboxItem(
  about: About,
  missing: ReasonAndMessage,
  { namespace }: ObservedCluster,
): ReportItem {
  return problemItem(about, missing, {
    object: { kind: resources.namespaces.kind, name: outboxNamespace(about.name) },
    field: annotationField(annotations.clusterUid),
    value: namespace?.annotations[annotations.clusterUid],
    message: "Follow the message; it needs the verb connect on the cluster.",
  });
}

function silentItem(about: About, silent: ReasonAndMessage): ReportItem {
  const namespace = outboxNamespace(about.name);
  return problemItem(about, silent, {
    object: { kind: resources.leases.kind, namespace, name: ownObjects.agentLease },
    ...{ field: "spec.renewTime", message: "Follow the message." },
  });
}

function pendingItem(about: About, secret: Metadata | undefined, now: number): ReportItem {
  const revised = instantOf(secret?.annotations[annotations.revisedAt]);
  const age = revised === undefined ? "" : `, which is ${secondsSince(revised, now)} s old`;
  const message =
    secret === undefined
      ? `The controller has not written it for cluster "${about.name}" yet.`
      : `The agent of cluster "${about.name}" has not reported of its revision yet${age}.`;
  return itemOf(about, "unknown", { reason: "Progressing", message, causes: [] });
}

/** What an agent reports of a source that is not everywhere. */
function reportedItem(about: About, report: SourceReport): ReportItem {
  const { desired, synced, conflicts, failed, message } = report;
  const reason = report.reason === undefined ? undefined : knownReason(report.reason, "Failed");
  if (desired === 0 && reason === undefined)
    return itemOf(about, "problem", {
      ...{ reason: "NoTargets", causes: [] },
      message: "No namespace there is one of its projects and asks for copies.",
    });
  const counts = [
    `${synced} of ${shown(desired, "target")} there synced`,
    ...(conflicts === 0 ? [] : [shown(conflicts, "conflict")]),
    ...(failed === 0 ? [] : [`${failed} failed`]),
  ];
  const said = message === undefined ? "" : `: ${message}`;
  return itemOf(about, reason === undefined ? "unknown" : "problem", {
    reason: reason ?? "Progressing",
    message: `${counts.join(", ")}${said}`,
    causes: [],
  });
}

/** A count with its noun, such as `2 targets`. */
export function shown(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
