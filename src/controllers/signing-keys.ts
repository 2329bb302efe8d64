import type { Result } from "../api/result.ts";
import { ownObjects } from "../api/names.ts";
import { keyOf } from "../api/object.ts";
import { resources } from "../api/resources.ts";
import { type KeyRotationConfig, planKeyRotation } from "../domain/endpoint-token/key-rotation.ts";
import { requeueAt } from "../domain/plan/plan.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import {
  isRotationRequested,
  newSigningKeys,
  type ObservedSigningKeys,
  rotationPatch,
} from "../tokens/signing-keys.ts";
import { type ApplyPlanDeps, applyPlan } from "./apply-plan.ts";
import type { Stores } from "./stores.ts";

/** Dependencies of {@link reconcileSigningKeys}; `namespace` is Latchkey's own. */
export interface SigningKeysDeps extends ApplyPlanDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly namespace: string;
  readonly config: KeyRotationConfig;
  readonly stores: Stores;
}

/**
 * Creates the signing keys if they do not exist, and rotates them by schedule and on request. An
 * invalid Secret is never overwritten: the create fails with AlreadyExists.
 */
export async function reconcileSigningKeys(deps: SigningKeysDeps): Promise<Result> {
  const { stores, namespace, clock } = deps;
  const found = stores.signingKeys.get(keyOf({ namespace, name: ownObjects.signingKeys }));
  if (found !== undefined) return rotate(found, deps);
  const object = newSigningKeys({ namespace, now: clock.now() });
  await applyPlan({ steps: [[{ do: "create", resource: resources.secrets, object }]] }, deps);
  return { kind: "done" };
}

async function rotate(found: ObservedSigningKeys, deps: SigningKeysDeps): Promise<Result> {
  const { config, clock, log } = deps;
  const now = clock.now();
  const isRequested = isRotationRequested(found);
  const rotation = planKeyRotation(found.keys, { config, now, isRequested });
  if (rotation.isChange) {
    const body = rotationPatch(found, rotation, now);
    const ref = found.metadata;
    await applyPlan({ steps: [[{ do: "patch", resource: resources.secrets, ref, body }]] }, deps);
    const signing = rotation.keys.find(({ state }) => state === "signing")?.kid;
    const removed = found.keys.length - rotation.keys.length;
    log.info({ signing, publishes: rotation.publishes, removed }, "signing keys rotated");
  }
  return requeueAt(now, [Number.isFinite(rotation.nextAt) ? rotation.nextAt : undefined]);
}
