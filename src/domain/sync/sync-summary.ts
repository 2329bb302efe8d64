import type { Event } from "../../api/event.ts";
import { annotations, labels } from "../../api/names.ts";
import { keyOf, type ObjectRef } from "../../api/object.ts";
import type { SharedSecret } from "../../api/shared-secret.ts";
import type { ReasonAndMessage } from "../../api/report.ts";
import { type ListedFailure, listedFailures } from "../object-state.ts";
import type { Write } from "../plan/plan.ts";
import type { Source } from "./copy.ts";
import { type OutcomeFacts, type OutcomeKind, targetOutcome } from "./outcome.ts";
import type { Target } from "./obstacles.ts";
import { leftoverReason } from "./leftover.ts";
import { outcomeTexts } from "./outcome-texts.ts";
import type { EmptyProject } from "./observed-target.ts";
import type { PlaceholderRequest } from "./placeholder.ts";
import type { TargetState } from "./state-table.ts";

/** The regarding object of an Event at a target: the existing Secret, or the namespace. */
type Regarding = Pick<Event, "resource" | "subject">;

/** A permitted target of a source and its state. */
export interface TargetReport {
  readonly target: Target;
  readonly regarding: Regarding;
  readonly state: TargetState;
  readonly failure?: ReasonAndMessage | undefined;
  /** What the existing Secret asks for, if it is a placeholder. */
  readonly request?: PlaceholderRequest | undefined;
  /** A newer source with the same target. */
  readonly conflicting?: ObjectRef | undefined;
  /** The keys of `copy-labels` and `copy-annotations` that are not allowed in the namespace. */
  readonly withheld?: readonly string[] | undefined;
}

/** A target with a conflict or a failure, or a Secret that cannot be removed. */
interface TargetFailure extends ListedFailure {
  readonly kind: "conflict" | "failed" | "unremoved";
  readonly regarding: Regarding;
}

/** A Secret that keeps data of a source, or stays, although it may not, and why. */
export interface LeftoverReport {
  readonly target: Target;
  readonly regarding: Regarding;
  readonly why: string;
}

/** The state of the copies of a source, as numbers for the status. */
export interface SyncSummary {
  readonly desired: number;
  readonly synced: number;
  readonly conflicts: number;
  readonly failed: number;
  readonly pending: number;
  /** Secrets that may not stay and cannot be removed; they are no targets. */
  readonly unremoved: number;
  /** The first ten of these, conflicts and failures; each by namespace and name. */
  readonly failures: readonly TargetFailure[];
  /** Targets of this source that newer sources also request, with the first of them. */
  readonly contested: { readonly targets: number; readonly newer?: ObjectRef };
  readonly emptyProjects: readonly EmptyProject[];
  /** Targets without a label or annotation that is not allowed there, with one key. */
  readonly withheld?: { readonly targets: number; readonly key: string };
}

const mostFailures = 10;
const longestMessage = 256;

/** Counts the targets of `source`; a paused target has opted out and does not count. */
export function summarize(
  source: Source,
  reports: readonly TargetReport[],
  emptyProjects: readonly EmptyProject[],
  leftovers: readonly LeftoverReport[] = [],
): SyncSummary {
  const evaluated = reports.map((report) => ({ report, verdict: verdictOf(source, report) }));
  const count = (kind: Verdict["kind"]): number =>
    evaluated.filter(({ verdict }) => verdict.kind === kind).length;
  const newerSources = byTarget(reports.filter(({ conflicting }) => conflicting !== undefined));
  const newer = newerSources[0]?.conflicting;
  const withheld = byTarget(reports.filter(({ withheld: keys = [] }) => keys.length > 0)).flatMap(
    ({ withheld: [key] = [] }) => key ?? [],
  );
  return {
    desired: reports.length - count("opted-out"),
    synced: count("synced"),
    conflicts: count("conflict"),
    failed: count("failed"),
    pending: count("pending"),
    unremoved: leftovers.length,
    failures: [
      ...leftovers.map(unremovedFailure).sort(byPlace),
      ...evaluated.flatMap(({ report, verdict }) => failureOf(report, verdict)).sort(byPlace),
    ].slice(0, mostFailures),
    contested: { targets: newerSources.length, ...(newer === undefined ? {} : { newer }) },
    emptyProjects,
    ...(withheld[0] === undefined
      ? {}
      : { withheld: { targets: withheld.length, key: withheld[0] } }),
  };
}

/** In one order, so that a controller that starts says the same as the one before it. */
function byTarget(reports: readonly TargetReport[]): readonly TargetReport[] {
  return reports.toSorted((one, other) => (keyOf(one.target) < keyOf(other.target) ? -1 : 1));
}

type Verdict =
  | { readonly kind: "synced" | "pending" | "opted-out" }
  | ({ readonly kind: "conflict" | "failed" } & ReasonAndMessage);

function verdictOf(source: Source, report: TargetReport): Verdict {
  const { state, target } = report;
  const outcome = targetOutcome(source, report);
  switch (outcome.kind) {
    case "arrives":
      return { kind: state.kind === "current" ? "synced" : "pending" };
    case "source-paused":
    case "copy-paused":
      return { kind: "opted-out" };
    case "refused":
    case "contested":
      return { ...outcome.failure, kind: "failed" };
    case "not-managed":
    case "older-source":
    case "followed":
    case "unknown-source":
    case "other-request":
    case "unfillable": {
      const facts = { source, sourceRef: source.secret.metadata, target, state, ...outcome };
      return { kind: "conflict", ...conflict(outcome.kind, facts) };
    }
  }
}

function conflict(kind: OutcomeKind, facts: OutcomeFacts): ReasonAndMessage {
  const { reason, fact, cause } = outcomeTexts[kind];
  // The fact about a placeholder says itself what to change.
  const fix = kind === "unfillable" ? "" : `. ${cause?.(facts).message ?? ""}`;
  return { reason, message: `${fact(facts)}${fix.replace(/\.$/, "")}` };
}

function failureOf(
  { target: { namespace, name }, regarding }: TargetReport,
  verdict: Verdict,
): readonly TargetFailure[] {
  if (verdict.kind !== "conflict" && verdict.kind !== "failed") return [];
  return [
    {
      kind: verdict.kind,
      namespace,
      name,
      reason: verdict.reason,
      message: verdict.message.slice(0, longestMessage),
      regarding,
    },
  ];
}

function unremovedFailure({
  target: { namespace, name },
  regarding,
  why,
}: LeftoverReport): TargetFailure {
  const message = why.slice(0, longestMessage);
  return { kind: "unremoved", namespace, name, reason: leftoverReason, message, regarding };
}

const mostProjects = 3;

/**
 * The message that says why projects have no namespace for the copies of a source in the namespace
 * `from`.
 */
export function emptyProjectsSentence(projects: readonly EmptyProject[], from: string): string {
  const parts = projects
    .slice(0, mostProjects)
    .map((project) => emptyProjectSentence(project, from));
  return [
    ...parts,
    ...(projects.length > mostProjects
      ? [`and ${projects.length - mostProjects} more projects have no target`]
      : []),
  ].join("; ");
}

function emptyProjectSentence(
  { project, namespaces, accepting }: EmptyProject,
  from: string,
): string {
  const quoted = JSON.stringify(project.slice(0, longestProject));
  if (namespaces === 0) return `no namespace has a label ${labels.project} that matches ${quoted}`;
  const [count, verb] =
    namespaces === 1 ? ["the only namespace", "does"] : [`all ${namespaces} namespaces`, "do"];
  if (accepting === 0)
    return (
      `${count} of project ${quoted} ${verb} not have ` +
      `the annotation ${annotations.sync}: enabled`
    );
  return (
    `${accepting} of ${namespaces} namespaces of project ${quoted} accept copies, ` +
    `but not from namespace ${JSON.stringify(from)} (annotation ${annotations.syncFrom})`
  );
}

const longestProject = 64;

function byPlace(one: ListedFailure, other: ListedFailure): number {
  return keyOf(one) < keyOf(other) ? -1 : 1;
}

const eventReasons = {
  conflict: "Conflict",
  failed: "Failed",
  unremoved: leftoverReason,
} as const;

/**
 * Returns an Event at each target that is new among the failures of the status: the owner of a
 * namespace may not be able to read the SharedSecret. Only failures in the status are recorded, so
 * that a restart does not repeat Events.
 */
export function targetEvents(
  { metadata, status }: SharedSecret,
  { failures }: SyncSummary,
): readonly Write[] {
  const listed = new Set(listedFailures(status).map(entryKey));
  return failures
    .filter((failure) => !listed.has(entryKey(failure)))
    .map(({ kind, namespace, name, message, regarding }: TargetFailure) => ({
      do: "record-event",
      event: {
        ...regarding,
        type: "Warning",
        reason: eventReasons[kind],
        note:
          `SharedSecret ${metadata.namespace ?? ""}/${metadata.name} ` +
          `${kind === "unremoved" ? "is withdrawn from" : "is not synced to"} Secret ` +
          `${namespace}/${name}: ${message}`,
        deduplicationKey: `${metadata.uid} ${metadata.resourceVersion}`,
      },
    }));
}

function entryKey({ namespace, name, reason }: ListedFailure): string {
  return `${namespace}/${name} ${reason}`;
}
