import type { Key } from "../api/object.ts";
import type { Result } from "../api/result.ts";
import { planRevokedTokens } from "../domain/endpoint-token/revoked-tokens.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { type ApplyPlanDeps, applyPlan } from "./apply-plan.ts";
import { type Failures, recordingFailures } from "./failures.ts";
import type { Revocations } from "./revocations.ts";
import type { Stores } from "./stores.ts";

/** Dependencies of {@link reconcileRevokedTokens}; `namespace` is Latchkey's own. */
export interface RevokedTokensDeps extends ApplyPlanDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly namespace: string;
  readonly stores: Pick<Stores, "revokedTokens">;
  readonly revocations: Revocations;
  readonly revocationFailures: Pick<Failures, "at" | "record" | "end">;
  /** Limits how often the ConfigMaps are written. */
  readonly revocationPace: { nextAt: number };
}

/** The only key of the queue. */
export const revokedTokensKey: Key = "revoked-tokens";

/**
 * Interval between writes, in milliseconds: the first deletion of many is written at once, and all
 * that follow within the interval in one write.
 */
const paceMs = 100;

/** Writes the decisions about tokens into the ConfigMaps. */
export async function reconcileRevokedTokens(key: Key, deps: RevokedTokensDeps): Promise<Result> {
  const { stores, revocations, revocationFailures, revocationPace: pace, namespace, clock } = deps;
  const early = pace.nextAt - clock.monotonic();
  if (early > 0) return { kind: "requeue-at", at: clock.now() + early };
  revocations.sweep();
  const lists = [...stores.revokedTokens.values()];
  const plan = planRevokedTokens(
    { lists, decisions: revocations.decisions, namespace },
    clock.now(),
  );
  if (plan.steps.length > 0) pace.nextAt = clock.monotonic() + paceMs;
  const attempt = {
    async apply() {
      await applyPlan(plan, deps);
      return plan.result;
    },
    // The tokens that wait for their entry report the failure.
    report: async () => {},
  };
  return await recordingFailures(key, attempt, revocationFailures);
}
