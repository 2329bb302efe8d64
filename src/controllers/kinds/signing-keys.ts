import { ownObjects } from "../../api/names.ts";
import { keyOf, type Key } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import { planKeyRotation } from "../../domain/endpoint-token/key-rotation.ts";
import { nothingToDo, type Plan, requeueAt } from "../../domain/plan/plan.ts";
import {
  type ObservedSigningKeys,
  parseSigningKeys,
  isRotationRequested,
  newSigningKeys,
  rotationPatch,
} from "../../tokens/signing-keys.ts";
import type { CentralEnqueuer } from "../central-enqueuer.ts";
import type { Reconciler } from "../reconciler.ts";
import type { World } from "../world.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

/** The Secret of the signing keys, in Latchkey's own namespace. */
export function signingKeysKind({
  namespace,
}: KindContext): WatchedKind<ObservedSigningKeys, World> {
  return {
    listOptions: {
      resource: resources.secrets,
      namespace,
      fieldSelector: `metadata.name=${ownObjects.signingKeys}`,
    },
    mayBeAt: (ref) => ref.namespace === namespace && ref.name === ownObjects.signingKeys,
    parse: parseSigningKeys,
    publishedIn: ["revoked", "roles"],
    enqueue: (_, enqueuer) => enqueue(enqueuer),
    enqueueAll: async (enqueuer) => enqueue(enqueuer),
    reconciler: signingKeysReconciler,
  };
}

function enqueue({ queues, stores }: CentralEnqueuer): void {
  queues.signingKeys.add(signingKeysKey, "high");
  for (const { metadata } of stores.tokens.values()) queues.token.add(keyOf(metadata), "low");
}

/** The only key of the signing keys queue. */
export const signingKeysKey: Key = "signing-keys";

/**
 * Creates the signing keys if they do not exist, and rotates them by schedule and on request. An
 * invalid Secret is never overwritten: the create fails with AlreadyExists.
 */
export const signingKeysReconciler: Reconciler<World> = {
  queue: "signingKeys",
  workers: () => 1,
  decide(_, world) {
    const found = signingKeys(world);
    if (found !== undefined) return rotate(found, world);
    const { namespace } = world.options;
    const object = newSigningKeys({ namespace, now: world.clock.now() });
    // Keys are random, and all that is wanted of them is that there are some.
    const write = { resource: resources.secrets, object, dataDigest: "" };
    return { ...nothingToDo, steps: [[{ do: "create", ...write }]] };
  },
};

function rotate(found: ObservedSigningKeys, { options, clock }: World): Plan {
  const now = clock.now();
  const isRequested = isRotationRequested(found);
  const rotation = planKeyRotation(found.keys, { config: options, now, isRequested });
  const result = requeueAt(now, [Number.isFinite(rotation.nextAt) ? rotation.nextAt : undefined]);
  if (!rotation.isChange) return { steps: [], result };
  const body = rotationPatch(found, rotation, now);
  const kid = rotation.keys.find(({ state }) => state === "signing")?.kid;
  const removed = found.keys.length - rotation.keys.length;
  return {
    steps: [[{ do: "patch", resource: resources.secrets, ref: found.metadata, body }]],
    result,
    log: {
      level: "info",
      fields: { kid, publishes: rotation.publishes, removed },
      message: "signing keys rotated",
    },
  };
}

/** The signing keys, if they are in the stores. */
export function signingKeys({ stores, options }: World): ObservedSigningKeys | undefined {
  const { namespace } = options;
  return stores.signingKeys.get(keyOf({ namespace, name: ownObjects.signingKeys }));
}
