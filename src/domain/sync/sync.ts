import { annotations, labels } from "../../api/names.ts";
import { byAge, type Manifest, type Metadata, type ObjectRef } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import type { SecretData } from "../../api/shared-secret.ts";
import {
  type ObservedCopy,
  copiedSource,
  copyManifest,
  isCurrent,
  isCopiedByUser,
  type Source,
  sourceFor,
  type UnmanagedSecret,
} from "./copy.ts";
import { deleteWrite, type Write } from "../plan/plan.ts";
import { isPaused } from "./sync-options.ts";

/** The observed state of one target Secret. */
export interface ObservedTarget {
  /** Eligible and permitted sources, the oldest first. */
  readonly candidates: readonly Source[];
  /** The existing Secret, if it has Latchkey's label. */
  readonly copy?: ObservedCopy;
  /** The existing Secret, if it does not have Latchkey's label. */
  readonly unmanaged?: UnmanagedSecret;
  /** The SharedSecret with the uid in the label of the copy, if it exists. */
  readonly owner?: Source;
  /**
   * Whether the owner is certainly not permitted to sync here, even if its annotations were valid.
   */
  readonly ownerIsNotPermitted?: boolean;
  /** Whether the namespace is terminating. */
  readonly isTerminating: boolean;
  /** The annotation `allow-copy-keys` of the namespace. */
  readonly allowCopyKeys?: string;
}

/** The state of a target, which decides the writes. */
export type TargetState =
  | { readonly kind: "not-wanted" }
  | { readonly kind: "current"; readonly source: Source }
  /** The annotation `disable-sync` is on the first of the candidates, or on the existing Secret. */
  | { readonly kind: "paused"; readonly by: "source" | "copy" }
  | { readonly kind: "conflict"; readonly source: Source }
  | { readonly kind: "missing"; readonly source: Source }
  /**
   * A copy by its annotation, without the label; its data is compared once the label is restored.
   */
  | { readonly kind: "unlabelled"; readonly source: Source; readonly unmanaged: UnmanagedSecret }
  | { readonly kind: "differs"; readonly source: Source; readonly copy: ObservedCopy }
  | { readonly kind: "to-recreate"; readonly source: Source; readonly copy: ObservedCopy }
  /**
   * The annotations of the source are invalid: the copy is kept, with the reason in an annotation.
   */
  | {
      readonly kind: "source-invalid";
      readonly copy: ObservedCopy;
      readonly source: ObjectRef;
      readonly why: string;
    }
  /** The source exists, but the sync is no longer permitted. */
  | { readonly kind: "withdrawn"; readonly copy: ObservedCopy | UnmanagedSecret }
  /**
   * The source is not in the cache; to be confirmed with the API server before the copy is deleted.
   */
  | {
      readonly kind: "orphaned";
      readonly copy: ObservedCopy | UnmanagedSecret;
      readonly source: ObjectRef;
    };

/** The state of one target. A Secret that is not managed by Latchkey is never changed. */
export function targetState(observed: ObservedTarget): TargetState {
  if (observed.isTerminating) return { kind: "not-wanted" };
  const [candidate] = observed.candidates;
  if (candidate === undefined) return unwanted(observed);
  const source = sourceFor(candidate, observed.allowCopyKeys);
  // A typo in the older source must not hand its targets to a newer one.
  return isKeptByOlder(observed, source) ? unwanted(observed) : wanted(observed, source);
}

function isKeptByOlder(
  { copy, unmanaged, owner, ownerIsNotPermitted: notPermitted = false }: ObservedTarget,
  source: Source,
): boolean {
  const existing = copy ?? unmanaged;
  if (
    existing === undefined ||
    notPermitted ||
    owner?.options.problem === undefined ||
    copiedSource(existing.metadata) === undefined
  )
    return false;
  return (
    owner.secret.metadata.deletionTimestamp === undefined && byAge(owner.secret, source.secret) < 0
  );
}

function wanted({ copy, unmanaged }: ObservedTarget, source: Source): TargetState {
  const existing = copy ?? unmanaged;
  if (source.options.paused) return { kind: "paused", by: "source" };
  if (existing !== undefined && isPaused(existing.metadata)) return { kind: "paused", by: "copy" };
  if (existing === undefined) return { kind: "missing", source };
  if (copy === undefined)
    return copiedSource(existing.metadata) === undefined
      ? { kind: "conflict", source }
      : { kind: "unlabelled", source, unmanaged: existing };
  if (!isOurs(copy.metadata, source)) return { kind: "conflict", source };
  if (isCurrent(copy, source)) return { kind: "current", source };
  const sealed = copy.immutable && copy.digest !== source.digest;
  const retyped = copy.type !== source.options.secretType;
  return sealed || retyped
    ? { kind: "to-recreate", source, copy }
    : { kind: "differs", source, copy };
}

/**
 * Whether Latchkey manages the Secret: by label and annotation, or without the annotation by the
 * label with the uid of the source.
 */
function isOurs(metadata: Metadata, source: Source): boolean {
  if (copiedSource(metadata) !== undefined) return true;
  return (
    !isCopiedByUser(metadata) && metadata.labels[labels.sourceUid] === source.secret.metadata.uid
  );
}

function unwanted({
  copy,
  unmanaged,
  owner,
  ownerIsNotPermitted: notPermitted = false,
}: ObservedTarget): TargetState {
  const existing = copy ?? unmanaged;
  const source = existing === undefined ? undefined : copiedSource(existing.metadata);
  if (existing === undefined || source === undefined) return { kind: "not-wanted" };
  if (owner === undefined) return { kind: "orphaned", copy: existing, source };
  // The reconcile of a source that is being deleted deletes its copies.
  if (owner.secret.metadata.deletionTimestamp !== undefined) return { kind: "not-wanted" };
  if (owner.options.problem === undefined || notPermitted)
    return { kind: "withdrawn", copy: existing };
  if (copy === undefined) return { kind: "unlabelled", source: owner, unmanaged: existing };
  return { kind: "source-invalid", copy, source, why: owner.options.problem.message };
}

/** The source whose data is written to the target, if any. */
export function writtenSource(state: TargetState): Source | undefined {
  return state.kind === "missing" || state.kind === "differs" || state.kind === "to-recreate"
    ? state.source
    : undefined;
}

/** The writes for a state, in order of the steps; `data` is that of {@link writtenSource}. */
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
            object: copyManifest(withData(state, data), target, state.copy),
          },
        ],
      ];
    case "to-recreate":
      return recreateSteps(copyManifest(withData(state, data), target), state.copy);
    case "source-invalid":
      return syncErrorSteps(state.copy, state.why);
    case "withdrawn":
    case "orphaned":
      return [[deleteWrite(resources.secrets, state.copy)]];
  }
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
 * already recorded or there is no copy.
 */
export function rejectedSteps(state: TargetState, why: string): readonly (readonly Write[])[] {
  if (state.kind !== "differs" && state.kind !== "to-recreate") return [];
  return syncErrorSteps(state.copy, why.slice(0, longestError));
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
