import type { Result } from "../api/result.ts";
import type { ObjectRef } from "../api/object.ts";
import type { Resource } from "../api/resources.ts";
import type { FormerGrantee } from "../domain/grants/former-grantee.ts";
import { type FinalizationPhase, finalizationPhase } from "../domain/plan/finalization.ts";
import { noteDeletion } from "./deletions.ts";
import { type Answers, type Ask, answerTo, askFor, type Question } from "./question.ts";
import type { World } from "./world.ts";

/** An object that is being deleted, and the state of its grants. */
export interface Deleting {
  readonly resource: Resource;
  readonly ref: ObjectRef & { readonly uid: string };
  readonly grantsStand: boolean;
  /** The subjects of its grants; they are reviewed, together with those observed before. */
  readonly grantees: readonly FormerGrantee[];
  /**
   * How long grants are kept after a deletion, and the object after its grants, in milliseconds.
   */
  readonly settleMs: number;
}

/**
 * Maximum number of reviews. More are not needed: API servers observe deleted bindings in the order
 * of their deletion.
 */
const mostReviews = 16;

/** The phase of a finalization; asks about former grantees when a review is due. */
export function observeFinalization(
  { resource, ref, grantsStand, grantees: seen, settleMs }: Deleting,
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
  };
  const phase = finalizationPhase({ ...facts, isStillHonoured: undefined });
  if (phase.kind !== "review") return phase;
  const reviews = grantees
    .slice(0, mostReviews)
    .map((grantee): Extract<Question, { do: "review" }> => ({
      ...{ do: "review", resource, ref, grantee },
    }));
  const isStillHonoured = reviews.some((review) => answerTo(review, answers)?.isHonoured === true);
  return askFor(reviews, answers) ?? finalizationPhase({ ...facts, isStillHonoured });
}

/** When to reconcile the object again; the deletion of a grant enqueues it, too. */
export function afterPhase(phase: FinalizationPhase, { clock }: Pick<World, "clock">): Result {
  return phase.kind === "keep-grants" || phase.kind === "settle"
    ? { kind: "requeue-at", at: clock.now() + phase.until - clock.monotonic() }
    : { kind: "done" };
}
