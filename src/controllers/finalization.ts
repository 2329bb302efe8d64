import type { Result } from "../api/result.ts";
import type { ObjectRef } from "../api/object.ts";
import { parseMetadata } from "../api/parse.ts";
import { type Resource, resources } from "../api/resources.ts";
import type { FormerGrantee } from "../domain/grants/former-grantee.ts";
import {
  type Deletion,
  deletionAfter,
  type FinalizationPhase,
  finalizationPhase,
  hasFinalizer,
  newDeletion,
} from "../domain/plan/finalization.ts";
import type { LeaderMemory, LeaderState } from "./memory.ts";
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
  /** Whether data of the object is left in its own cluster. */
  readonly hasCopies?: boolean;
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
  { resource, ref, grantsStand, grantees: seen, settleMs, heldUntil, hasCopies = false }: Deleting,
  world: World,
  answers: Answers,
): FinalizationPhase | Ask {
  const now = world.clock.monotonic();
  const observation = { stand: grantsStand, grantees: seen };
  const deletion = deletionAfter(deletionOf(ref.uid, world), observation, now);
  world.memory.deletions.set(ref.uid, deletion);
  const { seenAt, grantsGoneAt, hadGrants, grantees } = deletion;
  const facts = {
    hasGrantees: hadGrants || grantees.length > 0,
    now,
    seenAt,
    grantsGoneAt,
    settleMs,
    heldUntil: heldUntil?.(seenAt),
    hasCopies,
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
  const known = memory.deletions.get(uid) ?? newDeletion(clock.monotonic());
  memory.deletions.set(uid, known);
  return known;
}

/** Maximum number of uids: enough for the objects that wait for their grant, at little memory. */
const mostFinalized = 10_000;

/**
 * Records the response to a write, if it is of a key or token. Those with the cleanup finalizer
 * exist until this leader removes it, so the API server need not be asked whether they do. (If a
 * user removes the finalizer, a watch event follows.)
 */
export function noteFinalized(
  resource: Resource,
  response: unknown,
  { finalized }: Pick<LeaderMemory, "finalized">,
): void {
  if (resource !== resources.ownedAccessKeys && resource !== resources.endpointTokens) return;
  const metadata = parseMetadata(response);
  finalized.delete(metadata.uid);
  if (!hasFinalizer(metadata)) return;
  finalized.add(metadata.uid);
  const [oldest] = finalized.size > mostFinalized ? finalized : [];
  if (oldest !== undefined) finalized.delete(oldest);
}
