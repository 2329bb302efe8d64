import type { Result } from "../api/result.ts";
import { ownObjects } from "../api/names.ts";
import { keyOf } from "../api/object.ts";
import { resources } from "../api/resources.ts";
import type { Clock } from "../runtime/clock.ts";
import { newSigningKeys } from "../tokens/signing-keys.ts";
import { type ApplyPlanDeps, applyPlan } from "./apply-plan.ts";
import type { Stores } from "./stores.ts";

/** Dependencies of {@link reconcileSigningKeys}; `namespace` is Latchkey's own. */
export interface SigningKeysDeps extends ApplyPlanDeps {
  readonly clock: Clock;
  readonly namespace: string;
  readonly stores: Stores;
}

/**
 * Creates the signing keys if they do not exist. An invalid Secret is never overwritten: the create
 * fails with AlreadyExists.
 */
export async function reconcileSigningKeys(deps: SigningKeysDeps): Promise<Result> {
  const { stores, namespace, clock } = deps;
  if (stores.signingKeys.get(keyOf({ namespace, name: ownObjects.signingKeys })) === undefined) {
    const object = newSigningKeys({ namespace, now: clock.now() });
    await applyPlan({ steps: [[{ do: "create", resource: resources.secrets, object }]] }, deps);
  }
  return { kind: "done" };
}
