import { annotations, labels } from "../../api/names.ts";
import { byAge, type Metadata, type ObjectRef } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import type { SecretData } from "../../api/shared-secret.ts";
import {
  type ObservedCopy,
  copiedSource,
  copyManifest,
  isCurrent,
  isCopiedByUser,
  type Source,
  type UnmanagedSecret,
} from "./copy.ts";
import { deleteWrite, type Write } from "../plan/plan.ts";
import { isPaused } from "./sync-options.ts";

/** All that counts for one Secret in one project namespace. */
export interface ObservedTarget {
  /** Sources that are offered and permitted here, the senior first. */
  readonly candidates: readonly Source[];
  /** The Secret that stands here, if it carries Latchkey's label. */
  readonly copy?: ObservedCopy;
  /** The Secret that stands here, if it does not. */
  readonly unmanaged?: UnmanagedSecret;
  /** The SharedSecret whose uid the copy carries, if there is one. */
  readonly owner?: Source;
  /** Whether nothing that can be read lets the holder keep a copy here, were it only followed. */
  readonly ownerIsNotPermitted?: boolean;
  /** Whether the namespace is going away, and with it all that is inside. */
  readonly isTerminating: boolean;
}

/** What is true of a target, and so what to do. */
export type TargetState =
  | { readonly kind: "not-wanted" }
  | { readonly kind: "current"; readonly source: Source }
  | { readonly kind: "paused" }
  | { readonly kind: "conflict"; readonly source: Source }
  | { readonly kind: "missing"; readonly source: Source }
  /** A copy by its own word: what else is inside is seen once the label is back. */
  | { readonly kind: "unlabelled"; readonly source: Source; readonly unmanaged: UnmanagedSecret }
  | { readonly kind: "differs"; readonly source: Source; readonly copy: ObservedCopy }
  | { readonly kind: "to-recreate"; readonly source: Source; readonly copy: ObservedCopy }
  /** The source lives but cannot be followed: the copy stays and says why. */
  | {
      readonly kind: "stuck";
      readonly copy: ObservedCopy;
      readonly source: ObjectRef;
      readonly why: string;
    }
  /** No agreement any more between a living source and the namespace. */
  | { readonly kind: "withdrawn"; readonly copy: ObservedCopy | UnmanagedSecret }
  /** The source is gone as far as can be seen; to be confirmed before the copy goes. */
  | {
      readonly kind: "orphaned";
      readonly copy: ObservedCopy | UnmanagedSecret;
      readonly source: ObjectRef;
    };

/**
 * The state of one target. A Secret that Latchkey did not make and that did not ask is never
 * touched.
 */
export function targetState(observed: ObservedTarget): TargetState {
  if (observed.isTerminating) return { kind: "not-wanted" };
  const [source] = observed.candidates;
  if (source === undefined) return unwanted(observed);
  // A typo at the senior must not hand its targets to the junior.
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
  if (source.options.paused || (existing !== undefined && isPaused(existing.metadata)))
    return { kind: "paused" };
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
 * By label and annotation; where somebody took the annotation off, by the label of the very source
 * that goes here.
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
  // The pass over a source that is being deleted takes its own copies away.
  if (owner.secret.metadata.deletionTimestamp !== undefined) return { kind: "not-wanted" };
  if (owner.options.problem === undefined || notPermitted)
    return { kind: "withdrawn", copy: existing };
  if (copy === undefined) return { kind: "unlabelled", source: owner, unmanaged: existing };
  return { kind: "stuck", copy, source, why: owner.options.problem.message };
}

/** The source whose data goes into the target, if any does. */
export function writtenSource(state: TargetState): Source | undefined {
  return state.kind === "missing" || state.kind === "differs" || state.kind === "to-recreate"
    ? state.source
    : undefined;
}

/**
 * The writes that a state asks for, one step after the other; `data` is that of {@link
 * writtenSource}.
 */
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
    case "to-recreate": {
      const create = {
        resource: resources.secrets,
        object: copyManifest(withData(state, data), target),
      };
      return [
        [{ do: "dry-run-create", ...create }],
        [deleteWrite(resources.secrets, state.copy)],
        [{ do: "create", ...create }],
      ];
    }
    case "stuck":
      return state.copy.metadata.annotations[annotations.syncError] === state.why
        ? []
        : [
            [
              metadataPatch(state.copy.metadata, {
                annotations: { [annotations.syncError]: state.why },
              }),
            ],
          ];
    case "withdrawn":
    case "orphaned":
      return [[deleteWrite(resources.secrets, state.copy)]];
  }
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
 * What a copy that stands says of the write that the API server rejected; nothing where it says so
 * already, or where no copy stands.
 */
export function rejectedSteps(state: TargetState, why: string): readonly (readonly Write[])[] {
  if (state.kind !== "differs" && state.kind !== "to-recreate") return [];
  const { metadata } = state.copy;
  const text = why.slice(0, longestError);
  return metadata.annotations[annotations.syncError] === text
    ? []
    : [[metadataPatch(metadata, { annotations: { [annotations.syncError]: text } })]];
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
