import { annotations } from "../../api/names.ts";
import { keyOf, type Metadata, type ObjectRef } from "../../api/object.ts";
import { failedTargetState, listedFailures, recordedRejection } from "../object-state.ts";
import type { Failure } from "../plan/failure-history.ts";
import { isCopiedByUser, type Source } from "./copy.ts";
import { targetOutcome } from "./outcome.ts";
import { asksFor } from "./placeholder.ts";
import { targetState } from "./target-state.ts";
import { isRefusedType } from "./sync-options.ts";
import {
  isDeletedWithSource,
  observeTarget,
  observeInstead,
  type ObservedTarget,
} from "./observed-target.ts";
import type { SyncObjects } from "./sync-objects.ts";
import type { TargetState } from "./state-table.ts";
import { remainderOf } from "./target-steps.ts";
import {
  type NamespaceObstacle,
  namespaceObstacle,
  namespaceObstacles,
  type SourceObstacle,
  sourceObstacle,
  targetIn,
  type SyncMode,
} from "./obstacles.ts";

/** What a source has in a namespace, by case; all but `arrives` mean that its data is not there. */
export type OutcomeKind =
  | "arrives"
  | "refused"
  | "older-source"
  | "other-request"
  | "unfillable"
  | "not-managed"
  | "copied-by-user"
  | "source-paused"
  | "copy-paused"
  | "source-gone"
  | "other-name"
  | Exclude<SourceObstacle, "source-invalid">
  | InvalidSource
  | "namespace-missing"
  | NamespaceObstacle;

/** What is invalid about a source. */
type InvalidSource = "invalid-option" | "refused-type" | "invalid-key" | "too-large";

/** Where the API server's last rejection of a write was found. */
interface SeenFailure extends Failure {
  readonly in: "copy" | "source-status";
}

/** A Secret in a namespace. */
export type Target = ObjectRef & { readonly namespace: string };

/**
 * What a source has in a namespace, and what it was decided from. Its causes and its sentence are
 * made on request: {@link causesOf} and {@link factsOf}.
 */
export interface Explanation {
  readonly kind: OutcomeKind;
  /** All cases that apply, `kind` first: each of them has to change before the copy arrives. */
  readonly kinds: readonly OutcomeKind[];
  readonly sourceRef: ObjectRef;
  /** Absent if it does not exist. */
  readonly source?: Source;
  readonly target: Target;
  /** Absent if it does not exist. */
  readonly namespace?: Metadata;
  readonly state: TargetState;
  /** The Secret at the target, if there is one. */
  readonly existing?: Metadata;
  /** The source that wins the target, or that pauses it. */
  readonly other?: ObjectRef;
  readonly failure?: SeenFailure;
  /** The source that the Secret asks for, if it is a placeholder for another one. */
  readonly requested?: ObjectRef;
  /** Why a placeholder cannot have the data. */
  readonly why?: string;
}

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
  };
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
    ...{ kind, kinds: [kind], source, sourceRef: source.secret.metadata },
    target: targetIn("", source),
    state: { kind: "not-wanted" },
  };
}

function observedAt(
  target: Target,
  objects: SyncObjects,
): Pick<Explanation, "target" | "state" | "namespace" | "existing"> & {
  readonly observed: ObservedTarget;
} {
  const seen = observeTarget(target, objects);
  const observed = isRemoved(seen)
    ? observeInstead(target, remainderOf(seen.copy ?? seen.unmanaged), objects)
    : seen;
  const namespace = objects.namespaces.get(target.namespace);
  const existing = (observed.copy ?? observed.unmanaged)?.metadata;
  return {
    observed,
    target,
    state: targetState(observed),
    ...(namespace === undefined ? {} : { namespace }),
    ...(existing === undefined ? {} : { existing }),
  };
}

/** Whether the Secret at a target is deleted or emptied, whatever is wanted there afterwards. */
function isRemoved(seen: ObservedTarget): boolean {
  const state = targetState(seen);
  if (state.kind === "to-empty" || state.kind === "to-relabel") return true;
  if (state.kind === "withdrawn" || state.kind === "orphaned")
    return state.isPaused === true || (state.kind === "orphaned" && seen.request !== undefined);
  return isDeletedWithSource(seen);
}

/** Whether the data of the source is at the target, or is going to be. */
export function arrives({ kind }: Pick<Explanation, "kind">): boolean {
  return kind === "arrives";
}

function obstacleKinds(
  source: Source,
  target: Target,
  { namespace, mode }: { readonly namespace: Metadata | undefined; readonly mode: SyncMode },
): readonly OutcomeKind[] {
  const own = sourceObstacle(source);
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

function invalidKind({ options }: Source): InvalidSource {
  if (options.problem?.reason === "TooLarge") return "too-large";
  if (options.problem?.reason === "InvalidKey") return "invalid-key";
  const isOfType = options.problem?.message.startsWith(`${annotations.syncSecretType}: `) === true;
  return isOfType && isRefusedType(options.secretType) ? "refused-type" : "invalid-option";
}

type AtTarget = Pick<Explanation, "kind" | "kinds" | "other" | "failure" | "requested" | "why">;

function atTarget(
  source: Source,
  { state, target }: Pick<Explanation, "state" | "target">,
  observed: ObservedTarget,
): AtTarget {
  const failure = seenFailure(source, observed, target);
  const outcome = targetOutcome(source, { state, failure, request: observed.request });
  const one = (kind: OutcomeKind, rest: Partial<AtTarget> = {}): AtTarget => ({
    kind,
    kinds: [kind],
    ...rest,
  });
  switch (outcome.kind) {
    case "synced":
    case "pending":
      return one("arrives");
    case "refused":
      return one("refused", failure === undefined ? {} : { failure });
    case "other-request":
      return one(
        "other-request",
        outcome.requested === undefined ? {} : { requested: outcome.requested },
      );
    case "unfillable":
      return one("unfillable", { why: outcome.why });
    case "older-source":
      return one("older-source", { other: outcome.winner });
    case "not-managed": {
      const { metadata } = observed.copy ?? observed.unmanaged ?? {};
      return one(
        metadata !== undefined && isCopiedByUser(metadata) ? "copied-by-user" : "not-managed",
      );
    }
    case "paused": {
      const [winner = source] = observed.candidates;
      return outcome.by === "source"
        ? one("source-paused", { other: winner.secret.metadata })
        : one("copy-paused");
    }
  }
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
    (failure) =>
      keyOf(failure) === keyOf(target) && failedTargetState(failure.reason) !== "conflict",
  );
  return listed && { in: "source-status", reason: listed.reason, message: listed.message };
}
