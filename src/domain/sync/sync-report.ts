import { annotations, labels } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import type { ReportContent, ReportItem, ReportObject } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { annotationField, nameOf, quoted, reportObject } from "../report-object.ts";
import { copiedSource, isCopiedByUser, type Source } from "./copy.ts";
import { arrives, explainSource } from "./explain.ts";
import {
  conflictReasons,
  type Explanation,
  notManagedFact,
  notManagedFix,
  type OutcomeKind,
  secretObject,
  sourceObject,
} from "./outcome.ts";
import { outcomeTexts } from "./outcome-texts.ts";
import { placeholderRequestOf } from "./placeholder.ts";
import { similarName } from "../similar-name.ts";
import { projectOf } from "./obstacles.ts";
import { syncIndexes, type SyncObjects } from "./sync-objects.ts";
import { isPaused } from "./sync-options.ts";
import { unknownKeyItem } from "../unknown-key.ts";
import type { EmptyProject } from "./observed-target.ts";
import { emptyProjectsSentence } from "./sync-summary.ts";

/**
 * What a source has at a target: the facts, without what to change, and the fields that decide, the
 * first one to change first; none if the copy arrives.
 */
export function targetItem(explanation: Explanation): ReportItem {
  return {
    object: secretObject(explanation),
    source: sourceObject(explanation),
    state: arrives(explanation) ? "ok" : "problem",
    ...contentOf(explanation),
  };
}

/** Why a source is synced nowhere; undefined if its targets decide. */
export function sourceItem(source: Source): ReportItem | undefined {
  const explanation = explainSource(source);
  if (explanation === undefined) return undefined;
  const { unknownKey } = source.secret;
  if (explanation.kind === "not-offered" && unknownKey !== undefined)
    return unknownKeyItem("SharedSecret", sourceObject(explanation), unknownKey);
  const isIntended = explanation.kind === "not-offered" && source.options.clusters.length === 0;
  const isUnread = explanation.kind === "source-unread";
  const state = isUnread ? "unknown" : isIntended ? "info" : "problem";
  return { object: sourceObject(explanation), state, ...contentOf(explanation) };
}

function contentOf(explanation: Explanation): ReportContent {
  const texts = explanation.kinds.map((kind) => outcomeTexts[kind]);
  return {
    reason: outcomeTexts[explanation.kind].reason,
    message: `${texts.map(({ fact }) => fact(explanation)).join("; ")}.`,
    causes: texts.flatMap(({ reason, cause }) =>
      cause === undefined ? [] : [{ ...cause(explanation), reason }],
    ),
  };
}

/** Whether a reason is about the Secret at the target, and not about what both sides allow. */
export function isAtTarget(reason: string): boolean {
  return atTarget.has(reason);
}

const atTargetKinds: readonly OutcomeKind[] = [
  ...(["refused", "unremoved", "older-source", "other-request", "unfillable"] as const),
  ...(["not-managed", "copied-by-user", "source-paused", "copy-paused"] as const),
];
const atTarget: ReadonlySet<string> = new Set(
  atTargetKinds.map((kind) => outcomeTexts[kind].reason),
);

/** The projects without a namespace that accepts copies: a problem if that is so for all. */
export function emptyProjectItems(
  source: Source,
  empty: readonly EmptyProject[],
  { namespaces }: Pick<SyncObjects, "namespaces">,
): readonly ReportItem[] {
  const { metadata } = source.secret;
  const object = reportObject(resources.sharedSecrets.kind, metadata);
  const reason = "ProjectWithoutNamespace";
  return empty.map((one) => {
    const project = quoted(one.project);
    // A glob is no value of a label.
    const wanted = one.project.includes("*") ? `a project that matches ${project}` : project;
    const meant = meantProject(one.project, namespaces);
    const fix =
      meant ?? `Set the label ${labels.project} of a namespace to ${wanted}, or correct the list.`;
    const field = annotationField(annotations.syncToProjects);
    const value = metadata.annotations[annotations.syncToProjects];
    return {
      object,
      state: needsNamespace(source, empty) ? "problem" : "info",
      reason,
      message: `${emptyProjectsSentence([one], metadata.namespace ?? "")}.`,
      causes: [{ object, field, value, reason, message: fix }],
    };
  });
}

/**
 * Whether a source needs a namespace here: all of its projects are without one, and no connected
 * cluster is named, as the condition Synced decides.
 */
export function needsNamespace({ options }: Source, empty: readonly EmptyProject[]): boolean {
  return empty.length === options.projects.length && options.clusters.length === 0;
}

/** What to name instead of a project that no namespace has, among the namespaces that were read. */
function meantProject(project: string, namespaces: SyncObjects["namespaces"]): string | undefined {
  const named = namespaces.get(project);
  const own = named === undefined ? undefined : projectOf(named);
  if (own !== undefined && own !== project)
    return `Name project ${quoted(own)}: ${quoted(project)} is one of its namespaces.`;
  const similar = similarName(project, namespaces.namesIn(syncIndexes.project));
  return similar === undefined ? undefined : `Did you mean ${quoted(similar)}? Correct the list.`;
}

type CopyMetadata = Metadata & { readonly namespace: string };

/**
 * What the metadata of a Secret says about sync, for a user who cannot read its SharedSecret: the
 * controller records the last error there, in this annotation.
 */
export function copyItem(
  secret: CopyMetadata,
  errorAnnotation: string = annotations.syncError,
): ReportItem {
  const content = copyContent(secret, errorAnnotation);
  const state = content.causes.length === 0 ? "unknown" : "problem";
  return { object: reportObject(resources.secrets.kind, secret), state, ...content };
}

function copyContent(secret: CopyMetadata, errorAnnotation: string): ReportContent {
  const object = reportObject(resources.secrets.kind, secret);
  const source = copiedSource(secret);
  const request = placeholderRequestOf(secret);
  const error = secret.annotations[annotations.syncError] ?? request?.problem;
  const errorField = { object, field: annotationField(errorAnnotation), value: error };
  if (request !== undefined && (source === undefined || error !== undefined)) {
    const reason = "NotFilled";
    if (error === undefined)
      return { reason, message: `${nameOf(object)} asks to be filled and is not yet.`, causes: [] };
    const causes = [{ ...errorField, reason, message: "Follow the message." }];
    return { reason, message: `${nameOf(object)} is not filled: ${error}.`, causes };
  }
  if (source === undefined) return unmanagedContent(secret);
  const copy = `${nameOf(object)} is a copy of`;
  const sourceName = nameOf(reportObject(resources.sharedSecrets.kind, source));
  if (error !== undefined) {
    const reason = "NotCurrent";
    const fix = `Correct ${sourceName}, or ask a user who may change it.`;
    const causes = [{ ...errorField, reason, message: fix }];
    return { reason, message: `${copy} ${sourceName} and is not current: ${error}.`, causes };
  }
  return isPaused(secret)
    ? pausedContent(object)
    : {
        reason: "CopyFound",
        message: `${copy} ${sourceName} and has no recorded error.`,
        causes: [],
      };
}

function unmanagedContent(secret: CopyMetadata): ReportContent {
  const object = reportObject(resources.secrets.kind, secret);
  const reason = conflictReasons.notManaged;
  const field = annotationField(annotations.copyOf);
  const value = isCopiedByUser(secret) ? secret.annotations[annotations.copyOf] : undefined;
  return {
    reason,
    message: `${notManagedFact({ target: secret })}.`,
    causes: [{ object, field, value, reason, message: notManagedFix }],
  };
}

function pausedContent(object: ReportObject): ReportContent {
  const reason = "CopyPaused";
  const field = annotationField(annotations.disableSync);
  return {
    reason,
    message:
      `annotation ${annotations.disableSync} of ${nameOf(object)} is "true", ` +
      "so it is not changed.",
    causes: [{ object, field, value: "true", reason, message: "Remove the annotation." }],
  };
}
