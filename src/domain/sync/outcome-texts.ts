import { annotations, labels } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import { annotationField, type Cause, foundValue, labelField, nameOf, quoted } from "../cause.ts";
import type { Explanation, OutcomeKind } from "./explain.ts";
import {
  namespaceName,
  namespaceOf,
  refOf,
  secretName,
  secretOf,
  sourceName,
  sourceOf,
  winnerOf,
} from "./explained-objects.ts";
import type { Source } from "./copy.ts";
import { withheldKeys, withheldText } from "./copy-metadata.ts";
import { notManagedText, olderSourceText, otherRequestText } from "./outcome.ts";
import { outcomeReasons } from "./outcome-reasons.ts";
import { isPlaceholder } from "./placeholder.ts";
import { projectOf } from "./sync-target.ts";

/** The fields that decide an outcome, the first one to change first; none if the copy arrives. */
export function causesOf(explanation: Explanation): readonly Cause[] {
  return explanation.kinds.flatMap((kind) => {
    const cause = texts[kind].cause?.(explanation);
    return cause === undefined ? [] : [{ ...cause, reason: outcomeReasons[kind] }];
  });
}

/** The outcome as a sentence without what to change, which {@link causesOf} has. */
export function factsOf(explanation: Explanation): string {
  return `${explanation.kinds.map((kind) => texts[kind].fact(explanation)).join("; ")}.`;
}

/** The field that names a project without a namespace. */
export function emptyProjectCause({ secret }: Source, project: string): Cause {
  const { annotations: given } = secret.metadata;
  return {
    object: { kind: resources.sharedSecrets.kind, ...refOf(secret.metadata) },
    field: annotationField(syncToProjects),
    ...foundValue(given[syncToProjects]),
    reason: "ProjectWithoutNamespace",
    fix: `Set the label ${labels.project} of a namespace to ${quoted(project)}, or correct the list`,
  };
}

type UnnamedCause = Omit<Cause, "reason">;

interface Texts {
  readonly fact: (explanation: Explanation) => string;
  readonly cause?: (explanation: Explanation) => UnnamedCause;
}

const { sync, syncFrom, syncToProjects, syncSecretName, syncSecretType, disableSync, syncError } =
  annotations;

const texts: Readonly<Record<OutcomeKind, Texts>> = {
  arrives: {
    fact: (e) =>
      e.state.kind === "current"
        ? `${secretName(e)} has the data of ${sourceName(e)}${withheldFrom(e)}`
        : `${secretName(e)} is written with the data of ${sourceName(e)}${withheldFrom(e)}`,
  },
  refused: {
    fact: (e) => `the API server rejected ${secretName(e)}: ${failureText(e)}`,
    cause: (e) => ({ ...refusedField(e), found: failureText(e) }),
  },
  "older-source": {
    fact: (e) => olderSourceText(e.other ?? e.target).fact,
    cause: (e) => ({
      object: { kind: resources.sharedSecrets.kind, ...refOf(e.other ?? e.target) },
      field: "metadata.creationTimestamp",
      fix: olderSourceText(e.other ?? e.target).fix,
    }),
  },
  "other-request": {
    fact: (e) => otherRequestText(e.target, e.requested).fact,
    cause: (e) => ({
      object: secretOf(e),
      field: labelField(labels.sharedSecretName),
      ...foundValue(e.existing?.labels[labels.sharedSecretName]),
      fix: otherRequestText(e.target, e.requested).fix,
    }),
  },
  unfillable: {
    fact: (e) => `${secretName(e)} is not filled: ${e.why ?? ""}`,
    cause: (e) => ({
      ...placeholderField(e),
      object: secretOf(e),
      fix: "Correct the Secret as the message says",
    }),
  },
  "not-managed": {
    fact: (e) => notManagedText(e.target).fact,
    cause: (e) => ({
      object: secretOf(e),
      field: labelField(labels.sourceUid),
      ...foundValue(e.existing?.labels[labels.sourceUid]),
      fix: notManagedText(e.target).fix,
    }),
  },
  "copied-by-user": {
    fact: (e) =>
      `${secretName(e)} was created from a copy at another place, so Latchkey does not manage it; it was not changed`,
    cause: (e) => ({
      object: secretOf(e),
      field: annotationField(annotations.copyOf),
      ...foundValue(e.existing?.annotations[annotations.copyOf]),
      fix: notManagedText(e.target).fix,
    }),
  },
  "source-paused": {
    fact: (e) => `annotation ${disableSync} of ${nameOf(winnerOf(e))} is "true", so sync is paused`,
    cause: (e) => ({
      object: winnerOf(e),
      field: annotationField(disableSync),
      found: "true",
      fix: "Remove the annotation",
    }),
  },
  "copy-paused": {
    fact: (e) => `annotation ${disableSync} of ${secretName(e)} is "true", so it is not changed`,
    cause: (e) => ({
      object: secretOf(e),
      field: annotationField(disableSync),
      found: "true",
      fix: "Remove the annotation",
    }),
  },
  "source-gone": {
    fact: (e) => `${sourceName(e)} does not exist`,
    cause: (e) => ({
      object: sourceOf(e),
      field: "metadata.name",
      fix: `Create ${sourceName(e)}`,
    }),
  },
  "source-deleting": {
    fact: (e) => `${sourceName(e)} is being deleted`,
    cause: (e) => ({
      object: sourceOf(e),
      field: "metadata.deletionTimestamp",
      ...foundValue(e.source?.secret.metadata.deletionTimestamp),
      fix: `Create ${sourceName(e)} again after its deletion`,
    }),
  },
  "other-name": {
    fact: (e) =>
      `${sourceName(e)} is synced to Secrets of the name ${quoted(e.source?.options.secretName ?? "")}`,
    cause: (e) => fromSource(e, syncSecretName, `Set it to ${quoted(e.target.name)}`),
  },
  "not-offered": {
    fact: (e) => `annotation ${syncToProjects} of ${sourceName(e)} names no project`,
    cause: (e) => fromSource(e, syncToProjects, `Set it to ${projectName(e)}`),
  },
  "invalid-option": invalid("Correct the annotation"),
  "refused-type": invalid(`Set ${syncSecretType} to another type, or remove it`),
  "invalid-key": invalid("Rename the data key"),
  "too-large": invalid("Split the data into several SharedSecrets"),
  "namespace-missing": {
    fact: (e) => `${namespaceName(e)} does not exist`,
    cause: (e) => ({
      object: namespaceOf(e),
      field: "metadata.name",
      fix: `Create ${namespaceName(e)}`,
    }),
  },
  "namespace-terminating": {
    fact: (e) => `${namespaceName(e)} is being deleted`,
    cause: (e) => ({
      object: namespaceOf(e),
      field: "metadata.deletionTimestamp",
      ...foundValue(e.namespace?.deletionTimestamp),
      fix: `Create ${namespaceName(e)} again after its deletion`,
    }),
  },
  "no-project": {
    fact: (e) => `${namespaceName(e)} does not have the label ${labels.project}`,
    cause: (e) => ({
      object: namespaceOf(e),
      field: labelField(labels.project),
      fix: `Set the label to a project that ${sourceName(e)} names`,
    }),
  },
  "project-not-named": {
    fact: (e) =>
      `annotation ${syncToProjects} of ${sourceName(e)} does not name project ${projectName(e)} of ${namespaceName(e)}`,
    cause: (e) => fromSource(e, syncToProjects, `Add ${projectName(e)} to the list`),
  },
  "sync-not-enabled": {
    fact: (e) => `${namespaceName(e)} does not have the annotation ${sync}: enabled`,
    cause: (e) => fromNamespace(e, sync, `Set the annotation ${sync} to "enabled"`),
  },
  "sync-from-required": {
    fact: (e) =>
      `${namespaceName(e)} does not have the annotation ${syncFrom}, which --require-sync-from requires`,
    cause: (e) => ({
      object: namespaceOf(e),
      field: annotationField(syncFrom),
      fix: `Set the annotation ${syncFrom} to ${sourceNamespace(e)}`,
    }),
  },
  "sync-from-invalid": {
    fact: (e) => `annotation ${syncFrom} of ${namespaceName(e)} is invalid`,
    cause: (e) =>
      fromNamespace(e, syncFrom, "Separate names of namespaces by commas; at most 64 of them"),
  },
  "sync-from-excludes": {
    fact: (e) =>
      `annotation ${syncFrom} of ${namespaceName(e)} does not name namespace ${sourceNamespace(e)}`,
    cause: (e) => fromNamespace(e, syncFrom, `Add ${sourceNamespace(e)} to the list`),
  },
};

/** That the copy lacks a key that is not allowed, if there is one. */
function withheldFrom({ source, namespace, existing }: Explanation): string {
  if (existing !== undefined && isPlaceholder(existing)) return "";
  const allowed = namespace?.annotations[annotations.allowCopyKeys];
  const [key] = withheldKeys(source?.options.copyMetadata, allowed);
  return key === undefined ? "" : `, ${withheldText(key)}`;
}

function invalid(fix: string): Texts {
  return {
    fact: ({ source }) => source?.options.problem?.message ?? "",
    cause: (e) => ({ ...problemField(e), object: sourceOf(e), fix }),
  };
}

function problemField({ source }: Explanation): Pick<Cause, "field" | "found"> {
  return fieldIn(source?.options.problem?.message, source?.secret.metadata);
}

function placeholderField({ why, existing }: Explanation): Pick<Cause, "field" | "found"> {
  return fieldIn(why, existing);
}

/** Messages about an invalid object begin with the annotation, or with the path of the field. */
function fieldIn(
  message: string | undefined,
  metadata: Pick<Metadata, "annotations"> | undefined,
): Pick<Cause, "field" | "found"> {
  const [name = ""] = message?.split(": ", 1) ?? [];
  const value = metadata?.annotations[name];
  return Object.values(annotations).some((known) => known === name)
    ? { field: annotationField(name), ...foundValue(value) }
    : { field: name };
}

function fromSource(explanation: Explanation, annotation: string, fix: string): UnnamedCause {
  return {
    object: sourceOf(explanation),
    field: annotationField(annotation),
    ...foundValue(explanation.source?.secret.metadata.annotations[annotation]),
    fix,
  };
}

function fromNamespace(explanation: Explanation, annotation: string, fix: string): UnnamedCause {
  return {
    object: namespaceOf(explanation),
    field: annotationField(annotation),
    ...foundValue(explanation.namespace?.annotations[annotation]),
    fix,
  };
}

/** The quota that rejected a write, or where the rejection is recorded. */
function refusedField(e: Explanation): Pick<Cause, "object" | "field" | "fix"> {
  const quota = exceededQuota.exec(e.failure?.message ?? "")?.[1];
  if (quota !== undefined)
    return {
      object: { kind: resources.resourceQuotas.kind, namespace: e.target.namespace, name: quota },
      field: "spec.hard",
      fix: "Raise the limit, or delete objects that count; Latchkey retries within a minute",
    };
  const fix = "Follow the message; Latchkey retries within a minute";
  return e.failure?.in === "copy"
    ? { object: secretOf(e), field: annotationField(syncError), fix }
    : { object: sourceOf(e), field: "status.sync.failures", fix };
}

/** Kubernetes, plugin/pkg/admission/resourcequota. */
const exceededQuota = /exceeded quota: ([a-z0-9][-a-z0-9.]*)/;

function failureText({ failure }: Explanation): string {
  return failure === undefined ? "" : `${failure.reason}: ${failure.message}`;
}

function projectName({ namespace }: Explanation): string {
  return quoted((namespace === undefined ? undefined : projectOf(namespace)) ?? "");
}

function sourceNamespace({ sourceRef }: Explanation): string {
  return quoted(sourceRef.namespace ?? "");
}
