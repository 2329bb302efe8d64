import type { Reason } from "../../api/conditions.ts";
import type { Event } from "../../api/event.ts";
import { annotations, labels } from "../../api/names.ts";
import { keyOf, type Manifest, type Metadata, type ObjectRef } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import type { SecretData } from "../../api/shared-secret.ts";
import { withoutMiddle } from "../../api/text-end.ts";
import { deleteWrite, type Write } from "../plan/plan.ts";
import {
  copiedSource,
  copyManifest,
  emptiedCopyManifest,
  emptiedManifest,
  filledManifest,
  type ObservedCopy,
  type Source,
  withoutMarks,
  type TargetSecret,
  type UnmanagedSecret,
} from "./copy.ts";
import { unknownKeySentence } from "../unknown-key.ts";
import { isEmptied, pick, placeholderRequestOf } from "./placeholder.ts";
import { isRefusedType } from "./sync-options.ts";

/** Writes in order of the steps. */
export type Steps = readonly (readonly Write[])[];

/** A copy that is created with the data of a source. */
interface ToCreate {
  readonly source: Source;
}

/** A copy that is written with the data of a source. */
export interface ToWrite extends ToCreate {
  readonly copy: ObservedCopy;
  /** The copy has data of another source, which may not stay if this one cannot be written. */
  readonly hasWithdrawnData?: boolean;
}

/** A Secret whose data is removed. */
export interface ToRemove<T extends TargetSecret = TargetSecret> {
  readonly copy: T;
  /** Why a placeholder is emptied. */
  readonly why?: string;
  /** The annotation `disable-sync` is on the Secret, or on the source that is synced next. */
  readonly isPaused?: boolean;
}

/** A Secret that gets Latchkey's label, with the uid of its source. */
export interface ToRelabel {
  readonly unmanaged: UnmanagedSecret;
  readonly uid: string;
}

/** A Secret that gets its error annotation. */
export interface ToAnnotate {
  readonly copy: ObservedCopy;
  readonly why: string;
}

/** The target, and the data for it, in the variant in which the target has it. */
export interface Written {
  readonly target: ObjectRef;
  readonly data: SecretData | undefined;
}

/** Creates a copy. */
export function createSteps({ source }: ToCreate, { target, data }: Written): Steps {
  const object = copyManifest({ source, data: loaded(data) }, target);
  const dataDigest = digestOf(source);
  return [[{ do: "create", resource: resources.secrets, object, dataDigest }]];
}

/** Of the data of its copies and of its own: that of placeholders is picked from the latter. */
function digestOf({ digest, ownDigest }: Source): string {
  return `${digest} ${ownDigest}`;
}

/** Writes the data and the marks of a copy or a placeholder. */
export function replaceSteps(
  { source, copy, hasWithdrawnData = false }: ToWrite,
  { target, data }: Written,
): Steps {
  const object = replacement({ source, data: loaded(data) }, target, copy);
  const dataDigest = digestOf(source);
  const replace = { resource: resources.secrets, object, dataDigest, isRemoval: hasWithdrawnData };
  const steps = [[{ do: "replace" as const, ...replace }], ...filledSteps(copy, source)];
  return hasWithdrawnData ? [...steps, ...handOverSteps(copy, source, "in one write")] : steps;
}

/** Deletes and creates a copy whose type or immutable data differs. */
export function recreateSteps(
  { source, copy, hasWithdrawnData = false }: ToWrite,
  { target, data }: Written,
): Steps {
  const object = copyManifest({ source, data: loaded(data) }, target);
  const create = { resource: resources.secrets, object };
  const dataDigest = digestOf(source);
  return [
    [{ do: "dry-run-create", ...create }],
    [deleteWrite(resources.secrets, copy)],
    [{ do: "create", ...create, dataDigest, isRemoval: hasWithdrawnData }],
    ...(hasWithdrawnData ? handOverSteps(copy, source, "by a delete and a create") : []),
  ];
}

/** Events at the Secret and at both sources about a copy that changes hands. */
function handOverSteps({ metadata }: ObservedCopy, { secret }: Source, how: string): Steps {
  const former = copiedSource(metadata);
  // What a placeholder has changes with what it asks for.
  if (former === undefined || placeholderRequestOf(metadata) !== undefined) return [];
  const [from, to] = [former, secret.metadata].map((ref) => JSON.stringify(keyOf(ref)));
  if (from === to) return [];
  const event = {
    type: "Normal",
    reason: "HandedOver",
    note: `Secret ${keyOf(metadata)} passes from SharedSecret ${from} to ${to} ${how}`,
    deduplicationKey: `${metadata.uid} ${metadata.resourceVersion}`,
  } as const;
  const { sharedSecrets: resource, secrets } = resources;
  const subjects = [secret.metadata, { ...former, uid: metadata.labels[labels.sourceUid] ?? "" }];
  return [
    [
      { do: "record-event", event: { resource: secrets, subject: metadata, ...event } },
      ...subjects.map((subject): Write => ({
        do: "record-event",
        event: { resource, subject, ...event },
      })),
    ],
  ];
}

/** Steps without Events about SharedSecrets, which are in another cluster. */
export function withoutSourceEvents(steps: Steps): Steps {
  return steps.map((step) =>
    step.filter(
      (write) => write.do !== "record-event" || write.event.resource !== resources.sharedSecrets,
    ),
  );
}

/** Sets Latchkey's label. */
export function relabelSteps({ unmanaged, uid }: ToRelabel): Steps {
  return [[relabelWrite(unmanaged.metadata, uid)]];
}

/**
 * Removes the data of a source, and records an Event where a pause would have kept it: deletes a
 * copy, and empties a Secret that was filled, unless its data is immutable. A copy that is still
 * there after its deletion is emptied; see {@link emptyingSteps}.
 */
export function removalSteps({ copy, why, isPaused = false }: ToRemove): Steps {
  const { metadata } = copy;
  const event = isPaused ? [[dataRevokedEvent(metadata)]] : [];
  const isUsers = isEmptied(metadata);
  if (isUsers && "digest" in copy && !copy.immutable) {
    const object = emptiedManifest(copy, why);
    return [[{ do: "replace", resource: resources.secrets, object, isRemoval: true }], ...event];
  }
  const isWhole = "digest" in copy || !isUsers;
  if (!isWhole || metadata.deletionTimestamp !== undefined) return emptyingSteps(copy);
  return [[deleteWrite(resources.secrets, copy)], ...event];
}

/**
 * Empties a copy that the API server does not delete, or keeps for a finalizer: nothing is left to
 * do if its data is immutable. One that is only observed as metadata is labelled first, to be
 * observed as a whole.
 */
export function emptyingSteps(copy: TargetSecret): Steps {
  if (!("digest" in copy)) return relabelSteps({ unmanaged: copy, uid: "" });
  if (copy.immutable || copy.hasLeastData === true) return [];
  const object = emptiedCopyManifest(copy);
  // What somebody writes into it again and again is not the data of the source.
  return [[{ do: "replace", resource: resources.secrets, object, dataDigest: "" }]];
}

function dataRevokedEvent(metadata: Metadata): Write {
  const source = copiedSource(metadata);
  const named = source === undefined ? "its source" : `SharedSecret ${keyOf(source)}`;
  const note =
    `The data of ${named} is removed from this Secret although sync is paused: ` +
    "the SharedSecret does not exist, is being deleted, " +
    "or is not synced to this Secret any more";
  return warning(metadata, "DataRevoked", note);
}

function replacement(
  { source, data }: { readonly source: Source; readonly data: SecretData },
  target: ObjectRef,
  copy: ObservedCopy,
): Manifest {
  const request = placeholderRequestOf(copy.metadata);
  if (request === undefined) return copyManifest({ source, data }, target, copy);
  const picked = pick(data, request.keys);
  if (picked.kind === "missing")
    throw new TypeError(
      "cannot fill a placeholder: the data of its source is not that of its keys",
    );
  return filledManifest({ source, data: picked.values }, copy);
}

/** What is left of a Secret whose data is removed; undefined if it is deleted. */
export function remainderOf(secret: TargetSecret | undefined): TargetSecret | undefined {
  if (secret === undefined || !isEmptied(secret.metadata)) return undefined;
  if (!("digest" in secret)) return { metadata: withoutMarks(secret.metadata) };
  return secret.immutable
    ? undefined
    : { ...secret, metadata: withoutMarks(secret.metadata), digest: "", values: {} };
}

/** Writes why a placeholder is not filled, and records it: no SharedSecret reports it. */
export function notFilledSteps({ copy, why }: ToAnnotate): Steps {
  const steps = fillErrorSteps({ copy, why });
  const note = `Secret is not filled: ${why}`;
  return steps.length === 0 ? [] : [...steps, [warning(copy.metadata, "NotFilled", note)]];
}

/** Writes why a placeholder is not filled. */
export function fillErrorSteps({ copy, why }: ToAnnotate): Steps {
  // Latchkey's account may not write Secrets of these types.
  return isRefusedType(copy.type)
    ? []
    : syncErrorSteps({ copy, why: withoutMiddle(why, longestError) });
}

/** Records that a placeholder is filled after an error, which was recorded, too. */
function filledSteps({ metadata }: ObservedCopy, { secret }: Source): Steps {
  const hadError = metadata.annotations[annotations.syncError] !== undefined;
  if (!hadError || placeholderRequestOf(metadata) === undefined) return [];
  const note = `Secret is filled from SharedSecret ${JSON.stringify(keyOf(secret.metadata))}`;
  return [[eventAbout(metadata, { type: "Normal", reason: "Synced", note })]];
}

/** Records which keys of a Secret have no effect; an agent and a Latchkey beside it say it once. */
export function unknownKeySteps({ metadata: subject, unknownKeys = [] }: TargetSecret): Steps {
  return unknownKeys.map((unknown) => {
    const note = unknownKeySentence("Secret", unknown);
    const event = { type: "Warning", reason: "UnknownAnnotation", note, limit: "hints" } as const;
    const deduplicationKey = `${unknown.field} ${unknown.key}`;
    const about = { resource: resources.secrets, subject, deduplicationKey };
    return [{ do: "record-event", event: { ...about, ...event } }];
  });
}

function warning(subject: Metadata, reason: Reason, note: string): Write {
  return eventAbout(subject, { type: "Warning", reason, note });
}

function eventAbout(subject: Metadata, event: Pick<Event, "type" | "reason" | "note">): Write {
  const deduplicationKey = `${subject.uid} ${subject.resourceVersion}`;
  return {
    do: "record-event",
    event: { resource: resources.secrets, subject, ...event, deduplicationKey },
  };
}

function loaded(data: SecretData | undefined): SecretData {
  if (data === undefined)
    throw new TypeError("cannot write a copy: the data of its source is not loaded");
  return data;
}

/** Records the error of a rejected write at the copy, or removes data that may not stay there. */
export function rejectionSteps({ copy, hasWithdrawnData = false }: ToWrite, why: string): Steps {
  const error = { copy, why: withoutMiddle(why, longestError) };
  return hasWithdrawnData ? removalSteps(error) : syncErrorSteps(error);
}

/** Writes the error annotation of the copy, unless it is already there. */
export function syncErrorSteps({ copy: { metadata }, why }: ToAnnotate): Steps {
  return metadata.annotations[annotations.syncError] === why
    ? []
    : [[metadataPatch(metadata, { annotations: { [annotations.syncError]: why } })]];
}

const longestError = 1024;

type Patch = Extract<Write, { readonly do: "patch" }>;

function relabelWrite(metadata: Metadata, uid: string): Patch {
  return metadataPatch(metadata, { labels: { [labels.sourceUid]: uid } });
}

function metadataPatch(
  metadata: Metadata,
  marks: Readonly<Partial<Record<"labels" | "annotations", Readonly<Record<string, string>>>>>,
): Patch {
  return {
    do: "patch",
    resource: resources.secrets,
    ref: metadata,
    body: { metadata: { resourceVersion: metadata.resourceVersion, ...marks } },
  };
}
