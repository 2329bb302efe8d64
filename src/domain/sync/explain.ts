import { annotations } from "../../api/names.ts";
import { keyOf, type Metadata, type ObjectRef } from "../../api/object.ts";
import { failedTargetState, listedFailures, recordedRejection } from "../object-state.ts";
import { isCopiedByUser, type Source } from "./copy.ts";
import { dataCopySource, keepsDataCopy } from "./data-copy.ts";
import {
  existingAt,
  isDataCopyOf,
  observeInstead,
  observeTarget,
  type ObservedTarget,
} from "./observed-target.ts";
import {
  namespaceObstacle,
  namespaceObstacles,
  sourceObstacle,
  type SyncMode,
  targetIn,
  type Target,
} from "./obstacles.ts";
import {
  type Explanation,
  type InvalidSource,
  type OutcomeCases,
  type OutcomeDetails,
  type OutcomeKind,
  type SeenFailure,
  type TargetFacts,
  targetOutcome,
} from "./outcome.ts";
import { leftoverReason } from "./leftover.ts";
import { asksFor } from "./placeholder.ts";
import { effectOf } from "./state-table.ts";
import type { SyncObjects } from "./sync-objects.ts";
import { isRefusedType } from "./sync-options.ts";
import { targetState } from "./target-state.ts";
import { remainderOf } from "./target-steps.ts";

/**
 * Explains what a source has in a namespace, or at one Secret in it. Decides with the functions
 * with which the controller chooses its targets and the writes there.
 */
export function explain(
  source: Source,
  { namespace, name = targetIn(namespace, source).name }: PossibleTarget,
  objects: SyncObjects,
): Explanation {
  const target = { namespace, name };
  const { observed, ...base } = observedAt(target, objects);
  const isRequest =
    observed.request !== undefined && asksFor(observed.request, source.secret.metadata);
  const mode = isRequest ? "placeholder" : "namespace";
  const kinds = obstacleKinds(source, target, { namespace: base.namespace, mode });
  const [kind] = kinds;
  return {
    ...base,
    sourceRef: source.secret.metadata,
    source,
    ...(kind === undefined ? atTarget(source, base, observed) : { kind, kinds }),
    ...unremoved(source, target, kinds),
  };
}

/** That the Secret at a target of this source cannot be removed, as the source says. */
function unremoved(
  { secret }: Source,
  target: Target,
  kinds: readonly OutcomeKind[],
): Pick<Explanation, "failure" | "kind" | "kinds"> | undefined {
  const listed = listedFailures(secret.status).find(
    (failure) => failure.reason === leftoverReason && keyOf(failure) === keyOf(target),
  );
  if (listed === undefined || kinds.length === 0) return undefined;
  const failure = { in: "source-status", ...listed } as const;
  return { kind: "unremoved", kinds: ["unremoved", ...kinds], failure };
}

/** A Secret in a namespace; without a name, the one that the source is synced to. */
interface PossibleTarget extends Partial<ObjectRef> {
  readonly namespace: string;
}

/** Explains why a source that does not exist has nothing at a target. */
export function explainGone(
  sourceRef: ObjectRef,
  target: Target,
  objects: SyncObjects,
): Explanation {
  const { observed: _, ...base } = observedAt(target, objects);
  return { ...base, sourceRef, kind: "source-gone", kinds: ["source-gone"] };
}

/** Explains why a source is synced nowhere; undefined if its targets decide. */
export function explainSource(source: Source): Explanation | undefined {
  const own = sourceObstacle(source);
  if (own === undefined) return undefined;
  const kind = own === "source-invalid" ? invalidKind(source) : own;
  return {
    kind,
    kinds: [kind],
    source,
    sourceRef: source.secret.metadata,
    target: targetIn("", source),
    state: { kind: "not-wanted" },
  };
}

function observedAt(
  target: Target,
  objects: SyncObjects,
): TargetFacts & { readonly observed: ObservedTarget } {
  const seen = observeTarget(target, objects);
  const observed = isRemoved(seen)
    ? observeInstead(target, remainderOf(existingAt(seen)), objects)
    : seen;
  return {
    observed,
    target,
    state: targetState(observed),
    namespace: objects.namespaces.get(target.namespace),
    existing: existingAt(observed)?.metadata,
  };
}

/** Whether the Secret at a target is deleted or emptied, whatever is wanted there afterwards. */
export function isRemoved(observed: ObservedTarget): boolean {
  return effectOf(targetState(observed)) === "remove";
}

/** Whether the data of the source is at the target, or is going to be. */
export function arrives({ kind }: Explanation): boolean {
  return kind === "arrives";
}

function obstacleKinds(
  source: Source,
  target: Target,
  { namespace, mode }: { readonly namespace: Metadata | undefined; readonly mode: SyncMode },
): readonly OutcomeKind[] {
  const own = sourceObstacle(source);
  if (isDataCopyOf(source, target)) return readersObstacle(source);
  const isOpen =
    namespace !== undefined && namespaceObstacle(source, namespace, mode) === undefined;
  const isNamed = mode === "placeholder" || targetIn(target.namespace, source).name === target.name;
  if (own === undefined && isOpen && isNamed) return [];
  // Without a valid list, whether it names the project says nothing.
  const hasList = source.options.projects.length > 0;
  return [
    ...(own === undefined ? [] : [own === "source-invalid" ? invalidKind(source) : own]),
    ...(isNamed ? [] : (["other-name"] as const)),
    ...(namespace === undefined
      ? (["namespace-missing"] as const)
      : namespaceObstacles(source, namespace, mode).filter(
          (obstacle) => hasList || obstacle !== "project-not-named",
        )),
  ];
}

/** What keeps the readers of a source from having a copy. */
function readersObstacle(source: Source): readonly OutcomeKind[] {
  if (dataCopySource(source) !== undefined) return [];
  if (!keepsDataCopy(source)) return ["no-readers"];
  return [source.options.problem === undefined ? "source-not-allowed" : invalidKind(source)];
}

function invalidKind({ options }: Source): InvalidSource {
  if (options.problem?.reason === "TooLarge") return "too-large";
  if (options.problem?.reason === "InvalidKey") return "invalid-key";
  if (options.problem?.reason === "SourceMissing") return "source-missing";
  if (options.problem?.reason === "SourceInvalid") return "source-unusable";
  if (options.problem?.reason === "Progressing") return "source-unread";
  const isOfType = options.problem?.message.startsWith(`${annotations.syncSecretType}: `) === true;
  return isOfType && isRefusedType(options.secretType) ? "refused-type" : "invalid-option";
}

function atTarget(
  source: Source,
  { state, target, existing }: TargetFacts,
  observed: ObservedTarget,
): OutcomeCases & OutcomeDetails {
  const failure = seenFailure(source, observed, target);
  const outcome = targetOutcome(source, { state, failure, request: observed.request });
  if (outcome.kind === "not-managed" && existing !== undefined && isCopiedByUser(existing))
    return single("copied-by-user");
  const [winner = source] = observed.candidates;
  const pausedBy = outcome.kind === "source-paused" ? { other: winner.secret.metadata } : {};
  return { ...single(outcome.kind), ...outcome, ...pausedBy };
}

function single(kind: OutcomeKind): OutcomeCases {
  return { kind, kinds: [kind] };
}

/**
 * The last rejection of a write at the target: from the annotation of the copy or, if nothing could
 * be created, from the status of the source.
 */
function seenFailure(
  { secret }: Source,
  { copy }: ObservedTarget,
  target: ObjectRef,
): SeenFailure | undefined {
  const recorded = copy && recordedRejection(copy.metadata);
  if (recorded !== undefined) return { in: "copy", ...recorded };
  const listed = listedFailures(secret.status).find(
    (failure) => keyOf(failure) === keyOf(target) && failedTargetState(failure.reason) === "failed",
  );
  return listed && { in: "source-status", reason: listed.reason, message: listed.message };
}
