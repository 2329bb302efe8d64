import { planRevokedTokens } from "../domain/endpoint-token/revoked-tokens.ts";
import type { Decision } from "./question.ts";
import type { Reconciler } from "./reconciler.ts";
import { forgetExpiredRevocations } from "./revocations.ts";
import type { World } from "./world.ts";

/**
 * Interval between writes, in milliseconds: the first deletion of many is written at once, and all
 * that follow within the interval in one write.
 */
const paceMs = 100;

/** Writes the decisions about tokens into the ConfigMaps; the tokens that wait report a failure. */
export const revokedTokensReconciler: Reconciler = {
  queue: "revokedTokens",
  workers: () => 1,
  decide: (_, world) => decide(world),
};

function decide(world: World): Decision {
  const { stores, memory, clock, options } = world;
  const early = memory.revocationsAt - clock.monotonic();
  if (early > 0) return { decideAt: clock.now() + early };
  forgetExpiredRevocations(world);
  const lists = [...stores.revokedTokens.values()];
  const observed = { lists, decisions: memory.revocations, namespace: options.namespace };
  const plan = planRevokedTokens(observed, clock.now());
  if (plan.steps.length > 0) memory.revocationsAt = clock.monotonic() + paceMs;
  return plan;
}
