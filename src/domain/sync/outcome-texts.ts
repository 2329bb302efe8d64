import type { Reason } from "../../api/conditions.ts";
import { annotations, labels } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import type { DecidingField, FieldFix, ReportObject, ReportReason } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { annotationField, labelField, nameOf, quoted, reportObject } from "../report-object.ts";
import { contestedReason } from "../plan/failed-request.ts";
import { withheldKeys, withheldText } from "./copy-metadata.ts";
import {
  conflictReasons,
  namespaceObject,
  notManagedFact,
  notManagedFix,
  type AtTarget,
  type OutcomeFacts,
  type OutcomeKind,
  secretObject,
  sourceObject,
  winnerObject,
} from "./outcome.ts";
import { leftoverReason } from "./leftover.ts";
import { isPlaceholder } from "./placeholder.ts";
import { projectOf } from "./obstacles.ts";

interface UnnamedCause extends FieldFix {
  readonly object: ReportObject;
}

/** How a case is reported: its reason, what is so, and what decides and has to change. */
interface Texts {
  readonly reason: ReportReason | Reason;
  readonly fact: (e: OutcomeFacts) => string;
  readonly cause?: (e: OutcomeFacts) => UnnamedCause;
}

const { copyOf, disableSync, sync, syncError, syncFrom } = annotations;
const { syncSecretName, syncSecretType, syncToProjects, dataFor, dataFrom } = annotations;

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
  contested: {
    reason: contestedReason,
    fact: (e) => e.failure?.message ?? "",
    cause: (e) => ({
      object: secretObject(e),
      field: "metadata.managedFields",
      message: `Stop what changes the Secret, or set the annotation ${disableSync} on it.`,
    }),
  },
  unremoved: {
    reason: leftoverReason,
    fact: (e) => `${secretName(e)} cannot be removed: ${e.failure?.message ?? ""}`,
    cause: (e) => ({
      object: secretObject(e),
      field: "metadata.finalizers",
      message: "Remove what the message names; Latchkey retries within a minute.",
    }),
  },
  "older-source": {
    reason: conflictReasons.olderSource,
    fact: (e) => `${nameOf(winnerObject(e))} already syncs to this Secret and is older`,
    cause: (e) => ({
      object: winnerObject(e),
      field: "metadata.creationTimestamp",
      message: `Set the annotation ${syncSecretName} on one of them.`,
    }),
  },
  followed: {
    reason: conflictReasons.followed,
    fact: (e) =>
      `${nameOf(winnerObject(e))} follows ${secretName(e)}, so nothing is synced to this name`,
    cause: (e) => ({
      object: winnerObject(e),
      field: annotationField(dataFrom),
      value: e.target.name,
      message: `Set the annotation ${syncSecretName} to another name.`,
    }),
  },
  "no-readers": {
    reason: "NotRequested",
    fact: (e) => `${sourceName(e)} has no data of a Secret that somebody may get`,
  },
  "unknown-source": {
    reason: conflictReasons.unknownSource,
    fact: (e) =>
      `${secretName(e)} is a copy of ${nameOf(winnerObject(e))}, which the central cluster ` +
      "says nothing about; it was not changed",
    cause: (e) =>
      onSecret(e, copyOf, `Wait for the central cluster, or set the annotation ${syncSecretName}.`),
  },
  "other-request": {
    reason: conflictReasons.otherRequest,
    fact: (e) => `${secretName(e)} has ${requestText(e)}; it was not changed`,
    cause: (e) => ({
      object: secretObject(e),
      field: labelField(labels.sharedSecretName),
      value: e.existing?.labels[labels.sharedSecretName],
      message:
        `Remove the labels, or set the annotation ${syncSecretName} ` + "on this SharedSecret.",
    }),
  },
  unfillable: {
    reason: conflictReasons.invalidPlaceholder,
    fact: (e) => `${secretName(e)} is not filled: ${e.why ?? ""}`,
    cause: (e) => ({
      object: secretObject(e),
      ...fieldIn(e.why, e.existing),
      message: "Correct the Secret as the message says.",
    }),
  },
  "not-managed": {
    reason: conflictReasons.notManaged,
    fact: notManagedFact,
    cause: (e) => ({
      object: secretObject(e),
      field: labelField(labels.sourceUid),
      value: e.existing?.labels[labels.sourceUid],
      message: notManagedFix,
    }),
  },
  "copied-by-user": {
    reason: "CopiedByUser",
    fact: (e) =>
      `${secretName(e)} was created from a copy at another place, ` +
      "so Latchkey does not manage it; it was not changed",
    cause: (e) => onSecret(e, copyOf, notManagedFix),
  },
  "source-paused": paused("SourcePaused", winnerObject, "so sync is paused"),
  "copy-paused": paused("CopyPaused", secretObject, "so it is not changed"),
  "source-gone": missing("SourceNotFound", sourceObject),
  "source-deleting": deleting("SourceTerminating", sourceObject, (e) => e.source?.secret.metadata),
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
  "source-not-allowed": {
    reason: "SourceNotAllowed",
    fact: ({ source }) => source?.options.refusal?.message ?? "",
    cause: (e) => ({
      object: followedObject(e),
      field: annotationField(dataFor),
      message: `Add ${quoted(e.sourceRef.name)} to the list.`,
    }),
  },
  "source-missing": invalid("SourceMissing", "Create the Secret, or remove the annotation."),
  "source-unusable": invalid("SourceInvalid", "Follow the message."),
  "source-unread": invalid("Progressing", "Wait until the controller has read the Secret."),
  "invalid-option": invalid("InvalidSyncOption", "Correct the annotation."),
  "refused-type": invalid(
    "InvalidSyncOption",
    `Set ${syncSecretType} to another type, or remove it.`,
  ),
  "invalid-key": invalid("InvalidKey", "Rename the data key."),
  "too-large": invalid("TooLarge", "Split the data into several SharedSecrets."),
  "namespace-missing": missing("NamespaceNotFound", namespaceObject),
  "namespace-terminating": deleting("NamespaceTerminating", namespaceObject, (e) => e.namespace),
  "no-project": {
    reason: "NoProject",
    fact: (e) => `${namespaceName(e)} does not have the label ${labels.project}`,
    cause: (e) => ({
      object: namespaceObject(e),
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
      object: namespaceObject(e),
      field: annotationField(syncFrom),
      message: `Set the annotation ${syncFrom} to ${sourceNamespace(e)}.`,
    }),
  },
  "sync-from-invalid": {
    reason: "SyncFromInvalid",
    fact: (e) => `annotation ${syncFrom} of ${namespaceName(e)} is invalid`,
    cause: (e) =>
      onNamespace(
        e,
        syncFrom,
        "Separate names of namespaces by commas or line breaks; at most 64 of them.",
      ),
  },
  "sync-from-excludes": {
    reason: "SyncFromExcludes",
    fact: (e) =>
      `annotation ${syncFrom} of ${namespaceName(e)} does not name namespace ${sourceNamespace(e)}`,
    cause: (e) => onNamespace(e, syncFrom, `Add ${sourceNamespace(e)} to the list.`),
  },
};

/** The Secret that a source follows. */
function followedObject({ source, sourceRef }: OutcomeFacts): ReportObject {
  const { namespace = "" } = sourceRef;
  return reportObject(resources.secrets.kind, { namespace, name: source?.followed?.name ?? "" });
}

type ObjectOf = (e: OutcomeFacts) => ReportObject;

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
      object: sourceObject(e),
      ...fieldIn(e.source?.options.problem?.message, e.source?.secret.metadata),
      message,
    }),
  };
}

function deleting(
  reason: Texts["reason"],
  objectOf: ObjectOf,
  metadataOf: (e: OutcomeFacts) => Metadata | undefined,
): Texts {
  return {
    reason,
    fact: (e) => `${nameOf(objectOf(e))} is being deleted`,
    cause: (e) => ({
      object: objectOf(e),
      field: "metadata.deletionTimestamp",
      value: metadataOf(e)?.deletionTimestamp,
      message: `Create ${nameOf(objectOf(e))} again after its deletion.`,
    }),
  };
}

/** That the copy lacks a key that is not allowed, if there is one. */
function withheldFrom({ source, namespace, existing }: OutcomeFacts): string {
  if (existing !== undefined && isPlaceholder(existing)) return "";
  const allowed = namespace?.annotations[annotations.allowCopyKeys];
  const [key] = withheldKeys(source?.options.copyMetadata, allowed);
  return key === undefined ? "" : `, ${withheldText(key)}`;
}

/** Messages about an invalid object begin with the annotation, or with the path of the field. */
function fieldIn(message: string | undefined, metadata: Metadata | undefined): DecidingField {
  const [name = ""] = message?.split(": ", 1) ?? [];
  const isAnnotation = Object.values(annotations).some((known) => known === name);
  return isAnnotation ? annotationIn(metadata, name) : { field: name };
}

function annotationIn(metadata: Metadata | undefined, name: string): DecidingField {
  return { field: annotationField(name), value: metadata?.annotations[name] };
}

function onSource(e: OutcomeFacts, annotation: string, message: string): UnnamedCause {
  return {
    object: sourceObject(e),
    ...annotationIn(e.source?.secret.metadata, annotation),
    message,
  };
}

function onSecret(e: OutcomeFacts, annotation: string, message: string): UnnamedCause {
  return { object: secretObject(e), ...annotationIn(e.existing, annotation), message };
}

function onNamespace(e: OutcomeFacts, annotation: string, message: string): UnnamedCause {
  return { object: namespaceObject(e), ...annotationIn(e.namespace, annotation), message };
}

/** The quota that rejected a write, or where the rejection is recorded. */
function refusedField(e: OutcomeFacts): UnnamedCause {
  const quota = exceededQuota.exec(e.failure?.message ?? "")?.[1];
  if (quota !== undefined)
    return {
      object: { kind: resources.resourceQuotas.kind, namespace: e.target.namespace, name: quota },
      field: "spec.hard",
      message: "Raise the limit, or delete objects that count; Latchkey retries at once.",
    };
  const message = "Follow the message; Latchkey retries within five minutes.";
  if (e.failure?.in === "copy") return onSecret(e, syncError, message);
  return { object: sourceObject(e), field: "status.sync.failures", message };
}

/** Kubernetes, plugin/pkg/admission/resourcequota. */
const exceededQuota = /exceeded quota: ([a-z0-9][-a-z0-9.]*)/;

function requestText({ requested }: OutcomeFacts): string {
  return requested === undefined
    ? `the label ${labels.sharedSecretName}`
    : `labels that ask for ${nameOf(reportObject(resources.sharedSecrets.kind, requested))}`;
}

const failureText = ({ failure }: OutcomeFacts): string =>
  failure === undefined ? "" : `${failure.reason}: ${failure.message}`;

const projectName = ({ namespace }: OutcomeFacts): string =>
  quoted((namespace === undefined ? undefined : projectOf(namespace)) ?? "");

const sourceNamespace = ({ sourceRef }: OutcomeFacts): string => quoted(sourceRef.namespace ?? "");
const sourceName = (e: OutcomeFacts): string => nameOf(sourceObject(e));
const secretName = (e: AtTarget): string => nameOf(secretObject(e));
const namespaceName = (e: AtTarget): string => nameOf(namespaceObject(e));
