/*
 * Copies of SharedSecrets in project namespaces: what decides what, in the order in which a change
 * of a SharedSecret, a Namespace or a Secret passes through this directory. A file imports those of
 * its own number and of earlier ones.
 *
 * 1. What is asked for: sync-options.ts reads the annotations of a SharedSecret, with the help of
 *    option-items.ts, copy-metadata.ts, sync-format.ts and data-from.ts; placeholder.ts reads what
 *    a Secret asks for.
 * 2. What exists: copy.ts has a SharedSecret and a Secret as they are in memory, and the manifests
 *    of copies. source-secret.ts judges the Secret that a SharedSecret follows, source-pace.ts says
 *    when it is read, and data-copy.ts has the copy for readers.
 * 3. Who permits it: obstacles.ts names what keeps a namespace from having a copy, on both sides.
 * 4. What is seen: sync-objects.ts has all objects by key and by index; observed-target.ts finds
 *    the targets of a source, and all that concerns one target.
 * 5. What is done: state-table.ts lists the states of a target, each with its outcome and its
 *    writes, which are in target-steps.ts. target-writes.ts limits them for an agent that may not
 *    write everything; quota-relief.ts says when rejected writes can succeed.
 * 6. The decision: `targetState`, below, and placeholder-state.ts for placeholders.
 * 7. What is said: outcome.ts finds what one source has at a target, outcome-texts.ts words it;
 *    leftover.ts says why a Secret whose data may not stay is still there;
 *    sync-summary.ts counts outcomes for the status, and records Events.
 * 8. What users ask: explain.ts finds what keeps a source from a target, explain-place.ts what a
 *    namespace says itself, sync-report.ts reports it, and plan-change.ts finds what a change would
 *    do: the difference between before and after.
 */
import { labels } from "../../api/names.ts";
import { byAge, keyOf, type Metadata } from "../../api/object.ts";
import { copiedSource, isCurrent, isCopiedByUser, type Source, sourceFor } from "./copy.ts";
import { isEmptied, isFilled } from "./placeholder.ts";
import { placeholderState } from "./placeholder-state.ts";
import { isPaused } from "./sync-options.ts";
import { isBeingDeleted } from "./obstacles.ts";
import { existingAt, type ObservedTarget } from "./observed-target.ts";
import type { TargetState } from "./state-table.ts";

/** The state of one target. A Secret that is not managed by Latchkey is never changed. */
export function targetState(observed: ObservedTarget): TargetState {
  const { copy, request, isTerminating, unknownSource: sourceRef } = observed;
  if (isTerminating) return terminatingState(observed);
  if (sourceRef !== undefined) return { kind: "unknown-source", sourceRef };
  if (copy !== undefined && request !== undefined) return placeholderState(copy, request, observed);
  return formerPlaceholderState(observed) ?? copyState(observed);
}

/**
 * The state in a terminating namespace, whose Secrets Kubernetes deletes: one that it keeps for a
 * finalizer, or whose source is being deleted, loses its data at once.
 */
function terminatingState(observed: ObservedTarget): TargetState {
  const { owner, copy: whole } = observed;
  const copy = existingAt(observed);
  const sourceRef = copy && copiedSource(copy.metadata);
  const isLeft =
    copy?.metadata.deletionTimestamp !== undefined ||
    (owner !== undefined && isBeingDeleted(owner));
  if (copy === undefined || sourceRef === undefined || !isLeft) return { kind: "not-wanted" };
  return whole !== undefined && isEmptied(whole.metadata)
    ? { kind: "to-empty", copy: whole }
    : { kind: "withdrawn", copy, sourceRef };
}

/** The state of a Secret that was filled and is no placeholder any more. */
function formerPlaceholderState(observed: ObservedTarget): TargetState | undefined {
  const { copy, unmanaged, owner } = observed;
  const { metadata } = existingAt(observed) ?? {};
  if (metadata === undefined || !isFilled(metadata) || copiedSource(metadata) === undefined)
    return undefined;
  if (copy !== undefined) return { kind: "to-empty", copy };
  return unmanaged === undefined
    ? undefined
    : { kind: "to-relabel", unmanaged, uid: owner?.secret.metadata.uid ?? "" };
}

function copyState(observed: ObservedTarget): TargetState {
  const [candidate] = observed.candidates;
  if (candidate === undefined) return unwanted(observed);
  const source = sourceFor(candidate, observed.allowCopyKeys);
  // A typo in the older source must not hand its targets to a newer one.
  if (isKeptByOlder(observed, source)) return unwanted(observed);
  const state = followedState(observed, source) ?? wanted(observed, source);
  if (!hasWithdrawnData(observed)) return state;
  // A pause stops writes, but it keeps no data without permission, and nor does a missing label.
  if (state.kind === "paused" || state.kind === "unlabelled") return unwanted(observed);
  return state.kind === "differs" || state.kind === "to-recreate"
    ? { ...state, hasWithdrawnData: true }
    : state;
}

/**
 * The state of a name that a SharedSecret follows: a Secret that Latchkey does not manage, or none,
 * is nobody's target, because a copy would take the place of the source.
 */
function followedState(observed: ObservedTarget, source: Source): TargetState | undefined {
  const { follower, copy } = observed;
  const existing = existingAt(observed);
  const isManaged =
    copy !== undefined || (existing !== undefined && copiedSource(existing.metadata) !== undefined);
  return follower === undefined || isManaged ? undefined : { kind: "followed", source, follower };
}

/**
 * Whether the existing Secret has data of a source that does not exist, is being deleted or is not
 * permitted here any more; a source that is merely invalid keeps its copies.
 */
function hasWithdrawnData(observed: ObservedTarget): boolean {
  const { owner, ownerIsNotPermitted: notPermitted = false, candidates } = observed;
  const existing = existingAt(observed);
  if (existing === undefined || copiedSource(existing.metadata) === undefined) return false;
  if (owner === undefined || notPermitted || isBeingDeleted(owner)) return true;
  return (
    owner.options.problem === undefined &&
    !candidates.some(({ secret }) => keyOf(secret.metadata) === keyOf(owner.secret.metadata))
  );
}

function isKeptByOlder(observed: ObservedTarget, source: Source): boolean {
  const { owner, ownerIsNotPermitted: notPermitted = false } = observed;
  const existing = existingAt(observed);
  if (
    existing === undefined ||
    notPermitted ||
    owner?.options.problem === undefined ||
    copiedSource(existing.metadata) === undefined
  )
    return false;
  return !isBeingDeleted(owner) && byAge(owner.secret, source.secret) < 0;
}

function wanted(observed: ObservedTarget, source: Source): TargetState {
  const { copy } = observed;
  const existing = existingAt(observed);
  if (source.options.paused) return { kind: "paused", by: "source" };
  if (existing !== undefined && isPaused(existing.metadata)) return { kind: "paused", by: "copy" };
  if (existing === undefined) return { kind: "missing", source };
  if (copy === undefined)
    return copiedSource(existing.metadata) === undefined
      ? { kind: "conflict", source }
      : { kind: "unlabelled", source, unmanaged: existing, uid: source.secret.metadata.uid };
  if (!isOurs(copy.metadata, source)) return { kind: "conflict", source };
  if (isCurrent(copy, source)) return { kind: "current", source };
  const sealed = copy.immutable && copy.digest !== source.digest;
  const retyped = copy.type !== source.options.secretType;
  if (!sealed && !retyped) return { kind: "differs", source, copy };
  // A Secret is never deleted because of its label alone.
  return copiedSource(copy.metadata) === undefined
    ? { kind: "conflict", source }
    : { kind: "to-recreate", source, copy };
}

/**
 * Whether Latchkey manages the Secret: by label and annotation, or without the annotation by the
 * label with the uid of the source.
 */
function isOurs(metadata: Metadata, source: Source): boolean {
  if (copiedSource(metadata) !== undefined) return true;
  // A Secret with the mark of an agent is not of the Latchkey that runs beside it.
  return (
    !isCopiedByUser(metadata) &&
    metadata.labels[labels.outboxUid] === undefined &&
    metadata.labels[labels.sourceUid] === source.secret.metadata.uid
  );
}

function unwanted(observed: ObservedTarget): TargetState {
  const { copy, owner, ownerIsNotPermitted: notPermitted = false, candidates } = observed;
  const [next] = candidates;
  const existing = existingAt(observed);
  const sourceRef = existing === undefined ? undefined : copiedSource(existing.metadata);
  if (existing === undefined || sourceRef === undefined) return { kind: "not-wanted" };
  const paused = isPaused(existing.metadata) || next?.options.paused === true;
  const removal = { copy: existing, sourceRef, ...(paused && { isPaused: paused }) };
  if (owner === undefined) return { kind: "orphaned", ...removal };
  if (owner.options.problem === undefined || notPermitted || isBeingDeleted(owner))
    return { kind: "withdrawn", ...removal };
  // Nothing is written before the Secret that the source follows has data for it.
  if (owner.followed !== undefined && owner.followed.state !== "data")
    return { kind: "source-unavailable", sourceRef };
  if (copy === undefined)
    return {
      kind: "unlabelled",
      source: owner,
      unmanaged: existing,
      uid: owner.secret.metadata.uid,
    };
  return { kind: "source-invalid", copy, sourceRef, why: owner.options.problem.message };
}
