import type { Reason } from "../../api/conditions.ts";
import { annotations, labels } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import type { ReportCause, ReportObject, ReportReason } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { annotationField, labelField, nameOf, quoted, reportObject } from "../report-object.ts";
import { withheldKeys, withheldText } from "./copy-metadata.ts";
import type { Explanation, OutcomeKind } from "./explain.ts";
import { conflictReasons, notManagedText, olderSourceText, otherRequestText } from "./outcome.ts";
import { isPlaceholder } from "./placeholder.ts";
import { projectOf } from "./obstacles.ts";

type UnnamedCause = Omit<ReportCause, "reason">;

/** How a case is reported: its reason, what is so, and what decides and has to change. */
interface Texts {
  readonly reason: ReportReason | Reason;
  readonly fact: (explanation: Explanation) => string;
  readonly cause?: (explanation: Explanation) => UnnamedCause;
}

const { sync, syncFrom, syncToProjects, syncSecretName, syncSecretType, disableSync, syncError } =
  annotations;

/** How each case is reported. */
export const outcomeTexts: Readonly<Record<OutcomeKind, Texts>> = {
  arrives: {
    reason: "Arrives",
    fact: (e) => {
      const verb = e.state.kind === "current" ? "has" : "is written with";
      return `${secretName(e)} ${verb} the data of ${sourceName(e)}${withheldFrom(e)}`;
    },
  },
  refused: {
    reason: "Rejected",
    fact: (e) => `the API server rejected ${secretName(e)}: ${failureText(e)}`,
    cause: (e) => ({ ...refusedField(e), value: failureText(e) }),
  },
  "older-source": {
    reason: conflictReasons.olderSource,
    fact: (e) => olderSourceText(e.other ?? e.target).fact,
    cause: (e) => ({
      object: reportObject(resources.sharedSecrets.kind, e.other ?? e.target),
      field: "metadata.creationTimestamp",
      message: `${olderSourceText(e.other ?? e.target).fix}.`,
    }),
  },
  "other-request": {
    reason: conflictReasons.otherRequest,
    fact: (e) => otherRequestText(e.target, e.requested).fact,
    cause: (e) => ({
      object: secretOf(e),
      field: labelField(labels.sharedSecretName),
      value: e.existing?.labels[labels.sharedSecretName],
      message: `${otherRequestText(e.target, e.requested).fix}.`,
    }),
  },
  unfillable: {
    reason: conflictReasons.invalidPlaceholder,
    fact: (e) => `${secretName(e)} is not filled: ${e.why ?? ""}`,
    cause: (e) => ({
      object: secretOf(e),
      ...fieldIn(e.why, e.existing),
      message: "Correct the Secret as the message says.",
    }),
  },
  "not-managed": {
    reason: conflictReasons.notManaged,
    fact: (e) => notManagedText(e.target).fact,
    cause: (e) => ({
      object: secretOf(e),
      field: labelField(labels.sourceUid),
      value: e.existing?.labels[labels.sourceUid],
      message: `${notManagedText(e.target).fix}.`,
    }),
  },
  "copied-by-user": {
    reason: "CopiedByUser",
    fact: (e) =>
      `${secretName(e)} was created from a copy at another place, ` +
      "so Latchkey does not manage it; it was not changed",
    cause: (e) => ({
      object: secretOf(e),
      ...annotationIn(e.existing, annotations.copyOf),
      message: `${notManagedText(e.target).fix}.`,
    }),
  },
  "source-paused": paused("SourcePaused", winnerOf, "so sync is paused"),
  "copy-paused": paused("CopyPaused", secretOf, "so it is not changed"),
  "source-gone": missing("SourceNotFound", sourceOf),
  "source-deleting": {
    reason: "SourceTerminating",
    fact: (e) => `${sourceName(e)} is being deleted`,
    cause: (e) => deletionOf(sourceOf(e), e.source?.secret.metadata),
  },
  "other-name": {
    reason: "OtherName",
    fact: (e) => {
      const name = quoted(e.source?.options.secretName ?? "");
      return `${sourceName(e)} is synced to Secrets of the name ${name}`;
    },
    cause: (e) => onSource(e, syncSecretName, `Set it to ${quoted(e.target.name)}.`),
  },
  "not-offered": {
    reason: "NotRequested",
    fact: (e) => `annotation ${syncToProjects} of ${sourceName(e)} names no project`,
    cause: (e) => onSource(e, syncToProjects, `Set it to ${projectName(e)}.`),
  },
  "invalid-option": invalid("InvalidSyncOption", "Correct the annotation."),
  "refused-type": invalid(
    "InvalidSyncOption",
    `Set ${syncSecretType} to another type, or remove it.`,
  ),
  "invalid-key": invalid("InvalidKey", "Rename the data key."),
  "too-large": invalid("TooLarge", "Split the data into several SharedSecrets."),
  "namespace-missing": missing("NamespaceNotFound", namespaceOf),
  "namespace-terminating": {
    reason: "NamespaceTerminating",
    fact: (e) => `${namespaceName(e)} is being deleted`,
    cause: (e) => deletionOf(namespaceOf(e), e.namespace),
  },
  "no-project": {
    reason: "NoProject",
    fact: (e) => `${namespaceName(e)} does not have the label ${labels.project}`,
    cause: (e) => ({
      object: namespaceOf(e),
      field: labelField(labels.project),
      message: `Set the label to a project that ${sourceName(e)} names.`,
    }),
  },
  "project-not-named": {
    reason: "ProjectNotNamed",
    fact: (e) =>
      `annotation ${syncToProjects} of ${sourceName(e)} ` +
      `does not name project ${projectName(e)} of ${namespaceName(e)}`,
    cause: (e) => onSource(e, syncToProjects, `Add ${projectName(e)} to the list.`),
  },
  "sync-not-enabled": {
    reason: "SyncNotEnabled",
    fact: (e) => `${namespaceName(e)} does not have the annotation ${sync}: enabled`,
    cause: (e) => onNamespace(e, sync, `Set the annotation ${sync} to "enabled".`),
  },
  "sync-from-required": {
    reason: "SyncFromRequired",
    fact: (e) =>
      `${namespaceName(e)} does not have the annotation ${syncFrom}, ` +
      "which --require-sync-from requires",
    cause: (e) => ({
      object: namespaceOf(e),
      field: annotationField(syncFrom),
      message: `Set the annotation ${syncFrom} to ${sourceNamespace(e)}.`,
    }),
  },
  "sync-from-invalid": {
    reason: "SyncFromInvalid",
    fact: (e) => `annotation ${syncFrom} of ${namespaceName(e)} is invalid`,
    cause: (e) =>
      onNamespace(e, syncFrom, "Separate names of namespaces by commas; at most 64 of them."),
  },
  "sync-from-excludes": {
    reason: "SyncFromExcludes",
    fact: (e) =>
      `annotation ${syncFrom} of ${namespaceName(e)} does not name namespace ${sourceNamespace(e)}`,
    cause: (e) => onNamespace(e, syncFrom, `Add ${sourceNamespace(e)} to the list.`),
  },
};

type ObjectOf = (explanation: Explanation) => ReportObject;

function paused(reason: Texts["reason"], objectOf: ObjectOf, consequence: string): Texts {
  return {
    reason,
    fact: (e) => `annotation ${disableSync} of ${nameOf(objectOf(e))} is "true", ${consequence}`,
    cause: (e) => ({
      object: objectOf(e),
      field: annotationField(disableSync),
      value: "true",
      message: "Remove the annotation.",
    }),
  };
}

function missing(reason: Texts["reason"], objectOf: ObjectOf): Texts {
  return {
    reason,
    fact: (e) => `${nameOf(objectOf(e))} does not exist`,
    cause: (e) => ({
      object: objectOf(e),
      field: "metadata.name",
      message: `Create ${nameOf(objectOf(e))}.`,
    }),
  };
}

function invalid(reason: Texts["reason"], message: string): Texts {
  return {
    reason,
    fact: ({ source }) => source?.options.problem?.message ?? "",
    cause: (e) => ({
      object: sourceOf(e),
      ...fieldIn(e.source?.options.problem?.message, e.source?.secret.metadata),
      message,
    }),
  };
}

function deletionOf(object: ReportObject, metadata: Metadata | undefined): UnnamedCause {
  return {
    object,
    field: "metadata.deletionTimestamp",
    value: metadata?.deletionTimestamp,
    message: `Create ${nameOf(object)} again after its deletion.`,
  };
}

/** That the copy lacks a key that is not allowed, if there is one. */
function withheldFrom({ source, namespace, existing }: Explanation): string {
  if (existing !== undefined && isPlaceholder(existing)) return "";
  const allowed = namespace?.annotations[annotations.allowCopyKeys];
  const [key] = withheldKeys(source?.options.copyMetadata, allowed);
  return key === undefined ? "" : `, ${withheldText(key)}`;
}

type Annotated = Pick<Metadata, "annotations"> | undefined;
type DecidingField = Pick<ReportCause, "field" | "value">;

/** Messages about an invalid object begin with the annotation, or with the path of the field. */
function fieldIn(message: string | undefined, metadata: Annotated): DecidingField {
  const [name = ""] = message?.split(": ", 1) ?? [];
  const isAnnotation = Object.values(annotations).some((known) => known === name);
  return isAnnotation ? annotationIn(metadata, name) : { field: name };
}

function annotationIn(metadata: Annotated, name: string): DecidingField {
  return { field: annotationField(name), value: metadata?.annotations[name] };
}

function onSource(e: Explanation, annotation: string, message: string): UnnamedCause {
  return { object: sourceOf(e), ...annotationIn(e.source?.secret.metadata, annotation), message };
}

function onNamespace(e: Explanation, annotation: string, message: string): UnnamedCause {
  return { object: namespaceOf(e), ...annotationIn(e.namespace, annotation), message };
}

/** The quota that rejected a write, or where the rejection is recorded. */
function refusedField(e: Explanation): UnnamedCause {
  const quota = exceededQuota.exec(e.failure?.message ?? "")?.[1];
  if (quota !== undefined)
    return {
      object: { kind: resources.resourceQuotas.kind, namespace: e.target.namespace, name: quota },
      field: "spec.hard",
      message: "Raise the limit, or delete objects that count; Latchkey retries within a minute.",
    };
  const message = "Follow the message; Latchkey retries within a minute.";
  return e.failure?.in === "copy"
    ? { object: secretOf(e), field: annotationField(syncError), message }
    : { object: sourceOf(e), field: "status.sync.failures", message };
}

/** Kubernetes, plugin/pkg/admission/resourcequota. */
const exceededQuota = /exceeded quota: ([a-z0-9][-a-z0-9.]*)/;

const failureText = ({ failure }: Explanation): string =>
  failure === undefined ? "" : `${failure.reason}: ${failure.message}`;

const projectName = ({ namespace }: Explanation): string =>
  quoted((namespace === undefined ? undefined : projectOf(namespace)) ?? "");

const sourceNamespace = ({ sourceRef }: Explanation): string => quoted(sourceRef.namespace ?? "");
const sourceName = (explanation: Explanation): string => nameOf(sourceOf(explanation));
const secretName = (explanation: Explanation): string => nameOf(secretOf(explanation));
const namespaceName = (explanation: Explanation): string => nameOf(namespaceOf(explanation));

/** The SharedSecret of an explanation. */
export function sourceOf({ sourceRef }: Explanation): ReportObject {
  return reportObject(resources.sharedSecrets.kind, sourceRef);
}

/** The Secret at its target. */
export function secretOf({ target }: Explanation): ReportObject {
  return reportObject(resources.secrets.kind, target);
}

/** The source that wins the target. */
function winnerOf({ sourceRef, other = sourceRef }: Explanation): ReportObject {
  return reportObject(resources.sharedSecrets.kind, other);
}

function namespaceOf({ target }: Explanation): ReportObject {
  return { kind: resources.namespaces.kind, name: target.namespace };
}
