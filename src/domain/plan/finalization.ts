/**
 * Finalization: what happens between the DELETE of an object and its end.
 *
 * Flow: The first write to an object adds Latchkey's finalizer, before anything is granted or
 * copied for it. After the DELETE, the leader goes through the phases of {@link FinalizationPhase}:
 *
 * 1. `keep-grants`: grants stay for the settle time. kubectl reads, lists and watches after its
 *    DELETE, and waits for the end of the object with these rights.
 * 2. `revoke`: grants are deleted; the deletion of each one is observed by the watch.
 * 3. `settle`: the settle time passes again, because API servers observe a deletion later.
 * 4. `review`: the API server is asked whether it still allows a former grantee by a deleted grant.
 *    While it does, the phase is `settle` for another 250 ms.
 * 5. `release`: the finalizer is removed.
 *
 * An object that was granted to nobody is released at once. The copies of a SharedSecret are
 * removed in every phase, by their own queue. What is left of them, the entry of a token among the
 * revoked ones, and connected clusters that hold data of the object keep the finalizer in place.
 *
 * Guarantees:
 *
 * - The name is free only after `review`: who had access to an object has none to the next object
 *   of its name.
 * - The finalizer is removed at the resourceVersion that was decided on, so that finalizers of
 *   other controllers that arrive meanwhile are kept.
 * - A failed write ends no phase: the next attempt decides again, and the status says what fails.
 *
 * Assumptions:
 *
 * - One leader at a time writes, and its stores contain every grant of the object.
 * - API servers observe deleted bindings in the order of their deletion, so that few reviews are
 *   enough.
 *
 * Caveats:
 *
 * - A new leader knows no {@link Deletion}: it starts with `keep-grants` again, or with `settle` if
 *   no grant is left, and knows only the former grantees that spec and annotations name.
 * - After a minute of `review`, or 30 s of waiting for connected clusters, the object is released
 *   anyway, so that no peer keeps a namespace from being deleted.
 * - Who removes the finalizer by hand skips all of this: the reconciles of grants and copies delete
 *   what is orphaned.
 */
import type { Condition, ConditionUpdate } from "../../api/conditions.ts";
import { cleanupFinalizer } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import type { Resource } from "../../api/resources.ts";
import type { FormerGrantee } from "../grants/former-grantee.ts";
import { withApplyFailure, mergeConditions } from "./conditions.ts";
import type { ReportedFailure } from "./failure-history.ts";
import { metadataWrite } from "./metadata-write.ts";
import { nothingToDo, type Plan, type Write, statusWrites } from "./plan.ts";

/** Whether the object has Latchkey's finalizer. */
export function hasFinalizer(metadata: Metadata): boolean {
  return metadata.finalizers.includes(cleanupFinalizer);
}

/** Adds Latchkey's finalizer. */
export function addFinalizer(resource: Resource, metadata: Metadata): Write {
  const finalizers = [...metadata.finalizers, cleanupFinalizer];
  return metadataWrite(resource, metadata, { finalizers });
}

/** Removes Latchkey's finalizer. */
export function removeFinalizer(resource: Resource, metadata: Metadata): Write {
  const finalizers = metadata.finalizers.filter((finalizer) => finalizer !== cleanupFinalizer);
  return metadataWrite(resource, metadata, { finalizers });
}

/**
 * What a leader knows of an object that is being deleted; instants are monotonic milliseconds. A
 * new leader starts without it, which only delays the deletion.
 */
export interface Deletion {
  readonly seenAt: number;
  /** When the last grant was deleted; undefined while a grant exists. */
  readonly grantsGoneAt: number | undefined;
  /** Whether this leader has observed a grant. */
  readonly hadGrants: boolean;
  /** The subjects of its bindings. */
  readonly grantees: readonly FormerGrantee[];
}

/** A deletion that is seen for the first time at `now`. */
export function newDeletion(now: number): Deletion {
  return { seenAt: now, grantsGoneAt: undefined, hadGrants: false, grantees: [] };
}

/** The deletion after an observation: whether grants exist, and whose they are. */
export function deletionAfter(
  before: Deletion,
  { stand, grantees }: { readonly stand: boolean; readonly grantees: readonly FormerGrantee[] },
  now: number,
): Deletion {
  const met = new Set(grantees.map(({ allowedBy }) => allowedBy));
  return {
    seenAt: before.seenAt,
    grantsGoneAt: stand ? undefined : (before.grantsGoneAt ?? now),
    hadGrants: before.hadGrants || stand,
    grantees: [...before.grantees.filter(({ allowedBy }) => !met.has(allowedBy)), ...grantees],
  };
}

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
  /** Whether data of the object is left in its own cluster. */
  readonly hasCopies?: boolean;
}

/** The phase of a finalization; `until` is a monotonic instant in milliseconds. */
export type FinalizationPhase =
  | { readonly kind: "keep-grants"; readonly until: number }
  | { readonly kind: "revoke" }
  | { readonly kind: "settle"; readonly until: number }
  | { readonly kind: "review" }
  /** A change of a copy enqueues the object. */
  | { readonly kind: "await-removal" }
  | { readonly kind: "release" };

const reviewAgainMs = 250;

/**
 * Maximum wait for an API server that still honours a deleted grant; after it, the finalizer is
 * removed anyway.
 */
const longestReviewMs = 60_000;

/** The phase of a finalization, by the flow above. */
export function finalizationPhase(observed: ObservedFinalization): FinalizationPhase {
  const phase = grantPhase(observed);
  if (phase.kind !== "release") return phase;
  const { now, heldUntil: until, hasCopies = false } = observed;
  if (hasCopies) return { kind: "await-removal" };
  return until !== undefined && now < until ? { kind: "settle", until } : phase;
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
  /** What keeps its cleanup from being complete. */
  readonly obstacle?: Pick<ConditionUpdate, "reason" | "message"> | undefined;
  /** Fields of the status beside its conditions that differ from before. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Plans the status of an object while its finalization fails repeatedly. */
export function planStuckFinalization(resource: Resource, object: Terminating, at: ReportAt): Plan {
  const status = terminatingStatus(resource, object, { isDone: false, ...at });
  return { ...nothingToDo, steps: status.length === 0 ? [] : [status] };
}

/**
 * Plans the removal of the finalizer in the phase release; until then, and while finalizers of
 * other controllers remain, the status says Terminating. `now` is in milliseconds since the epoch.
 */
export function planFinalization(
  resource: Resource,
  object: Terminating,
  { phase, ...at }: ReportAt & { readonly phase: FinalizationPhase },
): Plan {
  const { metadata } = object;
  const isDone = phase.kind === "release" || !hasFinalizer(metadata);
  const release = isDone && hasFinalizer(metadata) ? [removeFinalizer(resource, metadata)] : [];
  // Without another finalizer the object is deleted at once, so its status is not written.
  const stays = !isDone || metadata.finalizers.some((finalizer) => finalizer !== cleanupFinalizer);
  const status = stays ? terminatingStatus(resource, object, { isDone, ...at }) : [];
  return { ...nothingToDo, steps: [status, release].filter((step) => step.length > 0) };
}

function terminatingStatus(
  resource: Resource,
  { metadata, status, conditions }: Terminating,
  { isDone, now, failure, obstacle, fields = {} }: ReportAt & { readonly isDone: boolean },
): readonly Write[] {
  const { generation } = metadata;
  // While a failure is reported, the cleanup has not finished.
  const said = terminatingConditions(conditions, {
    isDone: isDone && failure === undefined,
    obstacle,
  });
  const updates = withApplyFailure(said, failure);
  const replaced = new Set<string>([...updates.map(({ type }) => type), "Reconciling", "Stalled"]);
  const kept = conditions.filter(({ type }) => !replaced.has(type));
  const merged = [...kept, ...mergeConditions(conditions, updates, { generation, now })];
  return statusWrites(
    resource,
    { metadata, status },
    {
      ...status,
      ...fields,
      observedGeneration: generation,
      conditions: merged.sort((one, other) => (one.type < other.type ? -1 : 1)),
    },
  );
}

/** Conditions that are False while an object is being deleted. */
const promises: readonly ConditionUpdate["type"][] = ["Active", "Synced", "ClustersSynced"];

function terminatingConditions(
  conditions: readonly Condition[],
  { isDone, obstacle }: Pick<ReportAt, "obstacle"> & { readonly isDone: boolean },
): readonly ConditionUpdate[] {
  const message = isDone
    ? "The object is being deleted. Latchkey has finished its cleanup and waits for " +
      "finalizers of other controllers."
    : "The object is being deleted. Latchkey revokes the access it granted, " +
      "then removes its finalizer.";
  const common = {
    reason: obstacle?.reason ?? "Terminating",
    message: obstacle === undefined ? message : `${message} ${obstacle.message}.`,
  } as const;
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
