import { knownReason, type Reason, reasons } from "../../api/conditions.ts";
import { annotations } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import type { FieldFix, ReasonAndMessage, ReportObject, ReportReason } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { clustersNamespace } from "../gateway/connected-cluster.ts";
import { annotationField, nameOf, quoted, reportObject } from "../report-object.ts";
import type { Source } from "../sync/copy.ts";
import { leftoverReason } from "../sync/leftover.ts";
import { isWell, type SourceReport } from "./cluster-report.ts";
import { isOutboxOf } from "./connected-clusters.ts";
import { type ConnectedCluster, offerTo } from "./consents.ts";
import { outboxNamespace } from "./outbox-names.ts";
import type { OutboxState } from "./outbox-table.ts";

/** What there is in the central cluster of a name that a cluster may have. */
export interface ObservedConnection {
  readonly name: string;
  /** Undefined if no Secret connects a cluster of this name. */
  readonly connected: ConnectedCluster | undefined;
  /** The similar name of a connected cluster, if none has this one and the asker may read it. */
  readonly similar?: string | undefined;
  /** The metadata of the namespace with the name of its outbox. */
  readonly namespace: Metadata | undefined;
}

/** What is known of the agent of a cluster. */
export interface ObservedAgent {
  /** Milliseconds since its last heartbeat; undefined if there was none. */
  readonly ageMs: number | undefined;
  /** Why it writes nothing, from its first report. */
  readonly problem?: ReasonAndMessage | undefined;
}

/** What is known of a source in a cluster. */
export interface ObservedClusterSync extends ObservedConnection {
  readonly agent: ObservedAgent;
  /** The state of its Secret in the outbox. */
  readonly state: OutboxState["kind"];
  /** The metadata of that Secret, if it exists. */
  readonly secret?: Metadata | undefined;
  /** The last rejected write of that Secret. */
  readonly failure?: ReasonAndMessage | undefined;
  /** What the agent reports of the source. */
  readonly report?: SourceReport | undefined;
}

/** All that the sentence of an obstacle names; only a connection and an agent for some. */
type ObstacleFacts = ObservedConnection &
  Pick<ObservedClusterSync, "agent"> &
  Partial<ObservedClusterSync> & { readonly source?: Source };

type Cause = FieldFix & { readonly object: ReportObject };

/** How an obstacle is reported, in words that stand behind the name of the cluster. */
interface ObstacleText {
  readonly reason: string;
  /** What is so, and what to change if that is no field. */
  readonly fact: string;
  readonly cause?: Cause;
}

/** Milliseconds without a heartbeat after which an agent counts as unreachable. */
export const silentAfterMs = 90_000;

const { projects, syncToClusters, syncToProjects } = annotations;
const agent = "the agent of the cluster";

/** What keeps a source from being synced in a connected cluster. */
const texts = {
  "source-deleting": (e) => said("Terminating", `${nameOf(ownerOf(e))} is being deleted`),
  "source-invalid": ({ source }) => ofApi(source?.options.problem),
  "source-not-allowed": ({ source }) => ofApi(source?.options.refusal),
  "cluster-unknown": (e) => ({
    ...said(
      "ClusterUnknown",
      `no connected cluster has the name ${quoted(e.name)}` +
        (e.similar === undefined ? "" : `; did you mean ${quoted(e.similar)}?`),
    ),
    cause: onSource(e, syncToClusters, `Correct the list, or run ${connect(e)}.`),
  }),
  "cluster-not-named": (e) => ({
    ...said("ClusterNotNamed", `${annotationOf(e, syncToClusters)} does not name the cluster`),
    cause: onSource(e, syncToClusters, `Add ${quoted(e.name)} to the list.`),
  }),
  "no-project-named": (e) => ({
    ...said("NotRequested", `${annotationOf(e, syncToProjects)} names no project`),
    cause: onSource(e, syncToProjects, "Name a project that the cluster lets in."),
  }),
  "projects-not-let-in": (e) => ({
    ...said("ProjectNotLetIn", `the cluster does not let ${projectNames(e)} in`),
    cause: {
      object: { kind: resources.secrets.kind, namespace: clustersNamespace, name: e.name },
      field: annotationField(projects),
      value: e.connected?.projects.join(", ") || undefined,
      message: `An administrator can run ${connect(e)} --projects=<names>.`,
    },
  }),
  "outbox-missing": (e) => {
    const isGoing = e.namespace?.deletionTimestamp !== undefined;
    const [what, option] =
      e.namespace === undefined || isGoing
        ? [isGoing ? "is being deleted" : "does not exist", ""]
        : ["is not the outbox of this connection", " --replace"];
    const fix = `run ${connect(e)}${option}`;
    return said("OutboxMissing", `Namespace "${outboxNamespace(e.name)}" ${what}; ${fix}`);
  },
  "outbox-full": () =>
    said("OutboxFull", "the outbox of the cluster has the maximum of bytes; share less with it"),
  "outbox-share-full": (e) => {
    const namespace = quoted(ownerOf(e).namespace ?? "");
    const why = `SharedSecrets of namespace ${namespace} hold a sixteenth of the outbox or more`;
    const fact = `${why}, and the last quarter of it is for namespaces that hold less`;
    return said("OutboxFull", `${fact}; share less of this namespace with the cluster`);
  },
  "write-refused": ({ failure }) => ofApi(failure),
  "not-written": () => said("Progressing", "the Secret in the outbox is being written"),
  "never-reported": () => {
    const fix = "apply the manifest of cluster connect there, and start it";
    return said("ClusterUnreachable", `${agent} has never reported; ${fix}`);
  },
  silent: () => {
    const fix = "look at its log there, and at its connection";
    const fact = `${agent} has not reported for ${silentAfterMs / 1000} s or longer`;
    return said("ClusterUnreachable", `${fact}; ${fix}`);
  },
  stopped: ({ agent: { problem } }) => {
    const reason = knownReason(problem?.reason ?? "", "Failed");
    return said(reason, `${agent} writes nothing: ${problem?.message || reasons[reason]}`);
  },
  "not-reported": () => said("Progressing", `${agent} has not reported of this revision yet`),
  "no-targets": () =>
    said("NoTargets", "no namespace there is one of its projects and asks for copies"),
  "not-everywhere": ({ report }) => {
    const { conflicts = 0, failed = 0, reason, message = "" } = report ?? {};
    const counted = conflicts > 0 ? "Conflict" : failed > 0 ? "Failed" : "Progressing";
    return { reason: reason ?? counted, fact: message };
  },
} satisfies Readonly<Record<string, (e: ObstacleFacts) => ObstacleText>>;

/** What keeps a source from being synced in a connected cluster. */
type ObstacleKind = keyof typeof texts;

/** How an obstacle is reported, to the status of a source and by commands. */
export function obstacleText(kind: ObstacleKind, facts: ObstacleFacts): ObstacleText {
  return texts[kind](facts);
}

/** The fact and what to change, where no field is named. */
export function obstacleMessage({ fact, cause }: ObstacleText): string {
  return cause === undefined ? fact : `${fact}. ${cause.message.replace(/\.$/, "")}`;
}

/** The first obstacle of a source in a cluster; undefined if every target there is synced. */
export function obstacleIn(
  source: Source,
  observed: ObservedClusterSync,
): ObstacleKind | undefined {
  const { connected, state, failure, secret, report } = observed;
  if (isRemovalBlocked(observed)) return "not-everywhere";
  if (source.options.problem !== undefined) return "source-invalid";
  if (connected === undefined) return "cluster-unknown";
  const offer = offerTo(source, connected);
  if (offer.kind === "withheld") return offer.obstacle;
  const missing = outboxObstacle(observed);
  if (missing !== undefined) return missing;
  if (state === "full") return "outbox-full";
  if (state === "share-full") return "outbox-share-full";
  if (state !== "current") return failure === undefined ? "not-written" : "write-refused";
  const isCurrent = report !== undefined && report.seen === secret?.resourceVersion;
  if (isCurrent && isWell(report)) return report.desired > 0 ? undefined : "no-targets";
  return agentObstacle(observed.agent) ?? (isCurrent ? "not-everywhere" : "not-reported");
}

/**
 * Whether the agent of a cluster reports that it cannot remove what is withdrawn, of the withdrawal
 * that its outbox has now.
 */
export function isRemovalBlocked({ state, secret, report }: ObservedClusterSync): boolean {
  return (
    state === "waiting" &&
    report?.reason === leftoverReason &&
    report.seen === secret?.resourceVersion
  );
}

/** Why a connected cluster can get nothing at all; undefined if it has an outbox. */
export function outboxObstacle({
  connected,
  namespace,
}: ObservedConnection): "outbox-missing" | undefined {
  const isOutbox = connected && namespace && isOutboxOf(namespace, connected);
  return isOutbox && namespace.deletionTimestamp === undefined ? undefined : "outbox-missing";
}

/** Why the agent of a cluster changes nothing, or is not heard; undefined if it works. */
export function agentObstacle({
  ageMs,
  problem,
}: ObservedAgent): "never-reported" | "silent" | "stopped" | undefined {
  if (ageMs === undefined) return "never-reported";
  if (ageMs > silentAfterMs) return "silent";
  return problem === undefined ? undefined : "stopped";
}

function said(reason: Reason | ReportReason, fact: string): ObstacleText {
  return { reason, fact };
}

function ofApi(problem?: ReasonAndMessage): ObstacleText {
  return { reason: problem?.reason ?? "Failed", fact: problem?.message ?? "" };
}

function connect({ name }: ObstacleFacts): string {
  return `kubectl latchkey cluster connect ${name}`;
}

function projectNames({ source }: ObstacleFacts): string {
  const names = source?.options.projects.map(quoted) ?? [];
  return `${names.length === 1 ? "project" : "any of the projects"} ${names.join(", ")}`;
}

function ownerOf({ source }: ObstacleFacts): ReportObject {
  return reportObject(resources.sharedSecrets.kind, source?.secret.metadata ?? { name: "" });
}

function annotationOf(e: ObstacleFacts, annotation: string): string {
  return `annotation ${annotation} of ${nameOf(ownerOf(e))}`;
}

/** A cause in an annotation of the source. */
function onSource(e: ObstacleFacts, annotation: string, message: string): Cause {
  const value = e.source?.secret.metadata.annotations[annotation];
  return { object: ownerOf(e), field: annotationField(annotation), value, message };
}
