import type { Result } from "../api/result.ts";
import type { ObjectRef } from "../api/object.ts";
import type { Resource } from "../api/resources.ts";
import type { FormerGrantee } from "../domain/grants/former-grantee.ts";
import { type FinalizationPhase, finalizationPhase } from "../domain/plan/finalization.ts";
import type { Deletion, LeaderState } from "./memory.ts";
import type { Plan } from "../domain/plan/plan.ts";
import {
  type Answers,
  type Ask,
  answerTo,
  askFor,
  type ReconcileDecision,
  isAsk,
  type Question,
} from "./question.ts";
import type { World } from "./world.ts";

/** An object that is being deleted, and the state of its grants. */
interface Deleting {
  readonly resource: Resource;
  readonly ref: ObjectRef & { readonly uid: string };
  readonly grantsStand: boolean;
  /** The subjects of its grants; they are reviewed, together with those observed before. */
  readonly grantees: readonly FormerGrantee[];
  /**
   * How long grants are kept after a deletion, and the object after its grants, in milliseconds.
   */
  readonly settleMs: number;
  /** Until when others may hold data of the object, by when this leader saw the deletion. */
  readonly heldUntil?: (seenAt: number) => number | undefined;
  /** Plans what a phase requires; `now` is in milliseconds since the epoch. */
  readonly plan: (phase: FinalizationPhase, now: number) => Plan;
}

/**
 * Maximum number of reviews. More are not needed: API servers observe deleted bindings in the order
 * of their deletion.
 */
const mostReviews = 16;

/**
 * Finalizes an object: decides its phase and plans what that requires. It is reconciled again when
 * the phase ends; the deletion of a grant enqueues it, too.
 */
export function finalize(deleting: Deleting, world: World, answers: Answers): ReconcileDecision {
  const phase = observePhase(deleting, world, answers);
  if (isAsk(phase)) return phase;
  const [now, monotonic] = [world.clock.now(), world.clock.monotonic()];
  const result: Result =
    phase.kind === "keep-grants" || phase.kind === "settle"
      ? { kind: "requeue-at", at: now + phase.until - monotonic }
      : { kind: "done" };
  return { ...deleting.plan(phase, now), result };
}

/** The phase of a finalization; asks about former grantees when a review is due. */
function observePhase(
  { resource, ref, grantsStand, grantees: seen, settleMs, heldUntil }: Deleting,
  world: World,
  answers: Answers,
): FinalizationPhase | Ask {
  const { seenAt, grantsGoneAt, hadGrants, grantees } = noteDeletion(
    ref.uid,
    { stand: grantsStand, grantees: seen },
    world,
  );
  const facts = {
    hasGrantees: hadGrants || grantees.length > 0,
    now: world.clock.monotonic(),
    seenAt,
    grantsGoneAt,
    settleMs,
    heldUntil: heldUntil?.(seenAt),
  };
  const phase = finalizationPhase({ ...facts, isStillHonoured: undefined });
  if (phase.kind !== "review") return phase;
  const reviews = grantees
    .slice(0, mostReviews)
    .map((grantee): Extract<Question, { do: "review" }> => ({
      do: "review",
      resource,
      ref,
      grantee,
    }));
  const isStillHonoured = reviews.some((review) => answerTo(review, answers)?.isHonoured === true);
  return askFor(reviews, answers) ?? finalizationPhase({ ...facts, isStillHonoured });
}

/** The deletion of the object with this uid; its first observation is recorded as now. */
export function deletionOf(uid: string, { memory, clock }: LeaderState): Deletion {
  const known = memory.deletions.get(uid) ?? {
    seenAt: clock.monotonic(),
    grantsGoneAt: undefined,
    hadGrants: false,
    grantees: [],
  };
  memory.deletions.set(uid, known);
  return known;
}

/** Records whether grants of an object exist, and returns what is known of its deletion. */
export function noteDeletion(
  uid: string,
  { stand, grantees }: { readonly stand: boolean; readonly grantees: readonly FormerGrantee[] },
  leader: LeaderState,
): Deletion {
  const before = deletionOf(uid, leader);
  const met = new Set(grantees.map(({ allowedBy }) => allowedBy));
  const deletion = {
    seenAt: before.seenAt,
    grantsGoneAt: stand ? undefined : (before.grantsGoneAt ?? leader.clock.monotonic()),
    hadGrants: before.hadGrants || stand,
    grantees: [...before.grantees.filter(({ allowedBy }) => !met.has(allowedBy)), ...grantees],
  };
  leader.memory.deletions.set(uid, deletion);
  return deletion;
}
