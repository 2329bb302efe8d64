import type { Reason } from "../../api/conditions.ts";
import type { Event } from "../../api/event.ts";
import { annotations, labels } from "../../api/names.ts";
import { keyOf, type Manifest, type Metadata, type ObjectRef } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import type { SecretData } from "../../api/shared-secret.ts";
import { deleteWrite, type Write } from "../plan/plan.ts";
import {
  copiedSource,
  copyManifest,
  emptiedManifest,
  filledManifest,
  type ObservedCopy,
  type Source,
  withoutMarks,
  type TargetSecret,
} from "./copy.ts";
import { isEmptied, pick, placeholderRequestOf } from "./placeholder.ts";
import { isRefusedType } from "./sync-options.ts";
import type { TargetState } from "./state-table.ts";

/** The writes for a state, in order of the steps; `data` has the form of `dataVariant`. */
export function targetSteps(
  target: ObjectRef,
  state: TargetState,
  data?: SecretData,
): readonly (readonly Write[])[] {
  switch (state.kind) {
    case "not-wanted":
    case "current":
    case "paused":
    case "conflict":
      return [];
    case "missing":
      return [
        [
          {
            do: "create",
            resource: resources.secrets,
            object: copyManifest(withData(state, data), target),
          },
        ],
      ];
    case "unlabelled":
      return [
        [
          metadataPatch(state.unmanaged.metadata, {
            labels: { [labels.sourceUid]: state.source.secret.metadata.uid },
          }),
        ],
      ];
    case "differs":
      return [
        [
          {
            do: "replace",
            resource: resources.secrets,
            object: replacement(withData(state, data), target, state.copy),
          },
        ],
        ...filledSteps(state.copy, state.source),
      ];
    case "to-recreate":
      return recreateSteps(copyManifest(withData(state, data), target), state.copy);
    case "source-invalid":
      return syncErrorSteps(state.copy, state.why);
    case "unfilled":
      return unfilledSteps(state.copy, state.why);
    case "unfillable":
      return whySteps(state.copy, state.why);
    case "withdrawn":
    case "orphaned":
    case "to-empty":
      return removalWrites(state.copy, state).map((write) => [write]);
    case "to-relabel":
      return [[removalWrite(state.unmanaged, { uid: state.uid })]];
  }
}

/** How the data of a copy is removed; see {@link removalWrite}. */
export interface Removal {
  readonly why?: string;
  readonly uid?: string;
  readonly isPaused?: boolean;
}

/** Removes the data of a copy, and records an Event where a pause would have kept it. */
export function removalWrites(
  copy: TargetSecret,
  { isPaused = false, ...how }: Removal,
): readonly Write[] {
  const removal = removalWrite(copy, how);
  // A patch only restores the label: the data is removed when the Secret is observed as a whole.
  return isPaused && removal.do !== "patch"
    ? [removal, dataRevokedEvent(copy.metadata)]
    : [removal];
}

function dataRevokedEvent(metadata: Metadata): Write {
  const source = copiedSource(metadata);
  const named = source === undefined ? "its source" : `SharedSecret ${keyOf(source)}`;
  const note = `The data of ${named} is removed from this Secret although sync is paused: the SharedSecret does not exist, is being deleted, or is not synced to this Secret any more`;
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

/**
 * Removes the data of a source: deletes a copy, and empties a Secret that was filled, unless its data
 * is immutable. A Secret that was filled and is only observed as metadata is labelled first, with the
 * `uid`, to be observed as a whole.
 */
export function removalWrite(
  secret: TargetSecret,
  { why, uid = "" }: Omit<Removal, "isPaused"> = {},
): Write {
  const { metadata } = secret;
  if (!isEmptied(metadata)) return deleteWrite(resources.secrets, secret);
  if (!("digest" in secret))
    return metadataPatch(metadata, { labels: { [labels.sourceUid]: uid } });
  return secret.immutable
    ? deleteWrite(resources.secrets, secret)
    : { do: "replace", resource: resources.secrets, object: emptiedManifest(secret, why) };
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
function unfilledSteps(copy: ObservedCopy, why: string): readonly (readonly Write[])[] {
  const steps = whySteps(copy, why);
  return steps.length === 0 ? [] : [...steps, [notFilledEvent(copy, why)]];
}

/** Writes why a placeholder is not filled. */
function whySteps(copy: ObservedCopy, why: string): readonly (readonly Write[])[] {
  // Latchkey's account may not write Secrets of these types.
  return isRefusedType(copy.type) ? [] : syncErrorSteps(copy, why.slice(0, longestError));
}

function notFilledEvent({ metadata }: ObservedCopy, why: string): Write {
  return warning(metadata, "NotFilled", `Secret is not filled: ${why}`);
}

/** Records that a placeholder is filled after an error, which was recorded, too. */
function filledSteps(
  { metadata }: ObservedCopy,
  { secret }: Source,
): readonly (readonly Write[])[] {
  const hadError = metadata.annotations[annotations.syncError] !== undefined;
  if (!hadError || placeholderRequestOf(metadata) === undefined) return [];
  const note = `Secret is filled from SharedSecret ${JSON.stringify(keyOf(secret.metadata))}`;
  return [[eventAbout(metadata, { type: "Normal", reason: "Synced", note })]];
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

function recreateSteps(object: Manifest, copy: ObservedCopy): readonly (readonly Write[])[] {
  const create = { resource: resources.secrets, object };
  return [
    [{ do: "dry-run-create", ...create }],
    [deleteWrite(resources.secrets, copy)],
    [{ do: "create", ...create }],
  ];
}

function withData(
  { source }: { readonly source: Source },
  data: SecretData | undefined,
): { readonly source: Source; readonly data: SecretData } {
  if (data === undefined)
    throw new TypeError("cannot write a copy: the data of its source is not loaded");
  return { source, data };
}

/**
 * Records the error of a rejected write in an annotation of the existing copy; no write if it is
 * already recorded or there is no copy. Removes data that may not stay.
 */
export function rejectedSteps(state: TargetState, why: string): readonly (readonly Write[])[] {
  if (state.kind !== "differs" && state.kind !== "to-recreate") return [];
  const { copy, hasWithdrawnData = false } = state;
  const error = why.slice(0, longestError);
  return hasWithdrawnData ? [[removalWrite(copy, { why: error })]] : syncErrorSteps(copy, error);
}

/** Writes the error annotation of the copy, unless it is already there. */
function syncErrorSteps({ metadata }: ObservedCopy, error: string): readonly (readonly Write[])[] {
  return metadata.annotations[annotations.syncError] === error
    ? []
    : [[metadataPatch(metadata, { annotations: { [annotations.syncError]: error } })]];
}

const longestError = 1024;

function metadataPatch(
  metadata: Metadata,
  marks: Readonly<Partial<Record<"labels" | "annotations", Readonly<Record<string, string>>>>>,
): Write {
  return {
    do: "patch",
    resource: resources.secrets,
    ref: metadata,
    body: { metadata: { resourceVersion: metadata.resourceVersion, ...marks } },
  };
}
