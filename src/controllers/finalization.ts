import type { Result } from "../api/result.ts";
import type { ObjectRef } from "../api/object.ts";
import { isTrueAt, recordAt, stringAt } from "../api/parse.ts";
import { type Resource, resources } from "../api/resources.ts";
import { type FormerGrantee, isHonoured, reviewSpec } from "../domain/grants/former-grantee.ts";
import { type FinalizationPhase, finalizationPhase } from "../domain/plan/finalization.ts";
import type { Client } from "../kube/client.ts";
import { isKubeError, isRefusal } from "../kube/errors.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Deletions } from "./deletions.ts";

/** Dependencies of {@link observeFinalization}. */
export interface FinalizationDeps {
  readonly client: Pick<Client, "review">;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly deletions: Deletions;
  /**
   * How long grants are kept after a deletion, and the object after its grants, in milliseconds.
   */
  readonly grantSettleTime: number;
}

/** An object that is being deleted, and the state of its grants. */
export interface Deleting {
  readonly resource: Resource;
  readonly ref: ObjectRef & { readonly uid: string };
  readonly grantsStand: boolean;
  /** The subjects of its grants; they are reviewed, together with those observed before. */
  readonly grantees: readonly FormerGrantee[];
}

/**
 * Maximum number of reviews. More are not needed: API servers observe deleted bindings in the order
 * of their deletion.
 */
const mostReviews = 16;

/**
 * Returns the phase of a finalization; asks the API server about former grantees when a review is
 * due.
 */
export async function observeFinalization(
  { resource, ref, grantsStand, grantees: seen }: Deleting,
  deps: FinalizationDeps,
): Promise<FinalizationPhase> {
  const { deletions, clock, client, grantSettleTime: settleMs } = deps;
  const { seenAt, grantsGoneAt, hadGrants, grantees } = deletions.note(ref.uid, {
    stand: grantsStand,
    grantees: seen,
  });
  const facts = {
    hasGrantees: hadGrants || grantees.length > 0,
    now: clock.monotonic(),
    seenAt,
    grantsGoneAt,
    settleMs,
  };
  const phase = finalizationPhase({ ...facts, isStillHonoured: undefined });
  if (phase.kind !== "review") return phase;
  const answers = await Promise.all(
    grantees
      .slice(0, mostReviews)
      .map((grantee) => isStillHonoured(grantee, { resource, ref }, client)),
  );
  return finalizationPhase({ ...facts, isStillHonoured: answers.includes(true) });
}

/** When to reconcile the object again; the deletion of a grant enqueues it, too. */
export function afterPhase(
  phase: FinalizationPhase,
  { clock }: Pick<FinalizationDeps, "clock">,
): Result {
  return phase.kind === "keep-grants" || phase.kind === "settle"
    ? { kind: "requeue-at", at: clock.now() + phase.until - clock.monotonic() }
    : { kind: "done" };
}

async function isStillHonoured(
  grantee: FormerGrantee,
  { resource, ref }: Pick<Deleting, "resource" | "ref">,
  client: Pick<Client, "review">,
): Promise<boolean> {
  try {
    const status = recordAt(
      await client.review(resources.accessReviews, reviewSpec(grantee, resource, ref)),
      "status",
    );
    return isHonoured(grantee, {
      allowed: isTrueAt(status, "allowed"),
      reason: stringAt(status, "reason") ?? "",
    });
  } catch (error) {
    // If the API server rejects the review, the object waits for the maximum time instead of
    // forever.
    if (isKubeError(error) && isRefusal(error)) return true;
    throw error;
  }
}
