import type { Condition, ConditionUpdate } from "../../api/conditions.ts";
import { cleanupFinalizer } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import type { Resource } from "../../api/resources.ts";
import { withApplyFailure, mergeConditions } from "./conditions.ts";
import type { ReportedFailure } from "./failure-history.ts";
import { removeFinalizer, hasFinalizer } from "./finalizer.ts";
import { nothingToDo, type Plan, type Write, statusWrites } from "./plan.ts";

/**
 * The observed state of an object that is being deleted; instants and durations are monotonic
 * milliseconds.
 */
export interface ObservedFinalization {
  /** Whether any subject is or may have been granted the object. */
  readonly hasGrantees: boolean;
  readonly now: number;
  /** When this process first saw the deletion. */
  readonly seenAt: number;
  /** When this process first observed that no grant is left; undefined while one exists. */
  readonly grantsGoneAt: number | undefined;
  /** How long grants stay after the deletion, and the object after its grants. */
  readonly settleMs: number;
  /**
   * Whether the API server still allows a former grantee by a deleted grant; undefined before the
   * review.
   */
  readonly isStillHonoured: boolean | undefined;
  /** Until when others may still hold data of the object; undefined if none do. */
  readonly heldUntil?: number | undefined;
}

/** The phase of a finalization; `until` is a monotonic instant in milliseconds. */
export type FinalizationPhase =
  /** Grants are kept: kubectl reads, lists and watches after its DELETE. */
  | { readonly kind: "keep-grants"; readonly until: number }
  /** Grants exist and are to be revoked. */
  | { readonly kind: "revoke" }
  /** Grants are deleted, but API servers may not have observed that yet. */
  | { readonly kind: "settle"; readonly until: number }
  /** The API server is asked whether it still honours a grant. */
  | { readonly kind: "review" }
  | { readonly kind: "release" };

const reviewAgainMs = 250;

/**
 * Maximum wait for an API server that still honours a deleted grant; after it, the finalizer is
 * removed anyway.
 */
const longestReviewMs = 60_000;

/**
 * The phase of a finalization: grants are kept for a settle time and then revoked; the finalizer is
 * removed a settle time later, once the API server no longer honours them. Without grantees, it is
 * removed at once. It stays while others hold data of the object.
 */
export function finalizationPhase(observed: ObservedFinalization): FinalizationPhase {
  const phase = grantPhase(observed);
  const { now, heldUntil: until } = observed;
  return phase.kind === "release" && until !== undefined && now < until
    ? { kind: "settle", until }
    : phase;
}

function grantPhase({
  hasGrantees,
  now,
  seenAt,
  grantsGoneAt,
  settleMs,
  isStillHonoured,
}: ObservedFinalization): FinalizationPhase {
  if (!hasGrantees) return { kind: "release" };
  if (grantsGoneAt === undefined)
    return now < seenAt + settleMs
      ? { kind: "keep-grants", until: seenAt + settleMs }
      : { kind: "revoke" };
  const settledAt = grantsGoneAt + settleMs;
  if (now < settledAt) return { kind: "settle", until: settledAt };
  if (isStillHonoured === undefined) return { kind: "review" };
  return isStillHonoured && now < settledAt + longestReviewMs
    ? { kind: "settle", until: now + reviewAgainMs }
    : { kind: "release" };
}

/** The metadata and status of an object that is being deleted. */
export interface Terminating {
  readonly metadata: Metadata;
  readonly status: Readonly<Record<string, unknown>>;
  readonly conditions: readonly Condition[];
}

/** `now` in milliseconds since the epoch, and the failure to report, if any. */
interface ReportAt {
  readonly now: number;
  readonly failure?: ReportedFailure | undefined;
}

/** Plans the status of an object while its finalization fails repeatedly. */
export function planStuckFinalization(
  resource: Resource,
  object: Terminating,
  { now, failure }: ReportAt,
): Plan {
  return {
    ...nothingToDo,
    steps: [terminatingStatus(resource, object, { isDone: false, now, failure })].filter(
      (step) => step.length > 0,
    ),
  };
}

/**
 * Plans the removal of the finalizer in the phase release; until then, and while finalizers of
 * other controllers remain, the status says Terminating. `now` is in milliseconds since the epoch.
 */
export function planFinalization(
  resource: Resource,
  object: Terminating,
  { phase, now, failure }: ReportAt & { readonly phase: FinalizationPhase },
): Plan {
  const { metadata } = object;
  const isDone = phase.kind === "release" || !hasFinalizer(metadata);
  const release = isDone && hasFinalizer(metadata) ? [removeFinalizer(resource, metadata)] : [];
  // Without another finalizer the object is deleted at once, so its status is not written.
  const stays = !isDone || metadata.finalizers.some((finalizer) => finalizer !== cleanupFinalizer);
  const status = stays ? terminatingStatus(resource, object, { isDone, now, failure }) : [];
  return { ...nothingToDo, steps: [status, release].filter((step) => step.length > 0) };
}

function terminatingStatus(
  resource: Resource,
  { metadata, status, conditions }: Terminating,
  { isDone, now, failure }: ReportAt & { readonly isDone: boolean },
): readonly Write[] {
  const { generation } = metadata;
  // While a failure is reported, the cleanup has not finished.
  const updates = withApplyFailure(
    terminatingConditions(conditions, isDone && failure === undefined),
    failure,
  );
  const replaced = new Set<string>([...updates.map(({ type }) => type), "Reconciling", "Stalled"]);
  const kept = conditions.filter(({ type }) => !replaced.has(type));
  const merged = [...kept, ...mergeConditions(conditions, updates, { generation, now })];
  return statusWrites(
    resource,
    { metadata, status },
    {
      ...status,
      observedGeneration: generation,
      conditions: merged.sort((one, other) => (one.type < other.type ? -1 : 1)),
    },
  );
}

/** Conditions that are False while an object is being deleted. */
const promises: readonly ConditionUpdate["type"][] = ["Active", "Synced", "ClustersSynced"];

function terminatingConditions(
  conditions: readonly Condition[],
  isDone: boolean,
): readonly ConditionUpdate[] {
  const message = isDone
    ? "The object is being deleted. Latchkey has finished its cleanup and waits for " +
      "finalizers of other controllers."
    : "The object is being deleted. Latchkey revokes the access it granted, " +
      "then removes its finalizer.";
  const common = { reason: "Terminating", message } as const;
  const withdrawn = promises.filter((type) =>
    conditions.some((condition) => condition.type === type),
  );
  return [
    { type: "Ready", status: "False", ...common },
    ...withdrawn.map((type): ConditionUpdate => ({ type, status: "False", ...common })),
    ...(isDone
      ? []
      : [{ type: "Reconciling", status: "True", ...common } satisfies ConditionUpdate]),
  ];
}
