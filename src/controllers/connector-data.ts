import { type Key, keyOf } from "../api/object.ts";
import { resources } from "../api/resources.ts";
import { connectorDataRef } from "../domain/access-key/connector-data-ref.ts";
import {
  type ConnectorDecision,
  removeConnectorDataRef,
  planConnectorSecret,
} from "../domain/access-key/connector-data.ts";
import { nothingToDo } from "../domain/plan/plan.ts";
import { type Answers, answerTo, type Decision, readOf } from "./question.ts";
import type { Reconciler } from "./reconciler.ts";
import { indexes } from "./stores.ts";
import type { World } from "./world.ts";

const askAgainMs = 5_000;

/** Reconciles a Secret of connector data, by name, with the keys that reference it. */
export const connectorDataReconciler: Reconciler = {
  queue: "connectorData",
  workers: ({ workers }) => workers,
  decide(name, world, answers) {
    const { stores, clock, options } = world;
    const secret = stores.connectorData.get(keyOf({ namespace: options.namespace, name }));
    if (secret === undefined) return disclaim(name, world, answers);
    const claimants = stores.keys.by(indexes.connectorData, name).map(({ metadata }) => metadata);
    const at = { now: clock.now(), keysAsOf: world.keysAsOf() };
    const decision = planConnectorSecret(secret, claimants, at);
    return decision.kind === "plan" ? decision.plan : confirm(decision, name, { world, answers });
  },
};

/** Asks for the key in the API server first, because a mistake would delete a user's data. */
function confirm(
  { key, ifGone, otherwise }: Extract<ConnectorDecision, { kind: "confirm" }>,
  name: Key,
  { world, answers }: { readonly world: World; readonly answers: Answers },
): Decision {
  const read = readOf(resources.ownedAccessKeys, { name: key.name });
  const live = answerTo(read, answers)?.live;
  if (live === undefined) return { questions: [read] };
  if (live.kind === "gone") return ifGone;
  const again = { decideAt: world.clock.now() + askAgainMs };
  if (live.kind === "unknown") return again;
  if (live.metadata.uid !== key.uid) return ifGone;
  return connectorDataRef(live.metadata.annotations)?.secret === name ? again : otherwise;
}

/**
 * Removes references to a Secret that does not exist. Confirms that with the API server, because
 * the watch of keys may be ahead of that of Secrets.
 */
function disclaim(name: Key, { stores, clock, options }: World, answers: Answers): Decision {
  const keys = stores.keys
    .by(indexes.connectorData, name)
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (keys.length === 0) return nothingToDo;
  const read = readOf(resources.secrets, { namespace: options.namespace, name });
  const live = answerTo(read, answers)?.live;
  if (live === undefined) return { questions: [read] };
  if (live.kind !== "gone") return { decideAt: clock.now() + askAgainMs };
  return { ...nothingToDo, steps: [keys.map(({ metadata }) => removeConnectorDataRef(metadata))] };
}
