import { apiVersion, components, labels, ownObjects } from "../../api/names.ts";
import { refOf, type Key, keyOf } from "../../api/object.ts";
import { listAt, parseLatchkeyMetadata, recordAt, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import {
  connectorDataRef,
  type ObservedConnectorSecret,
  type ConnectorDecision,
  removeConnectorDataRef,
  planConnectorSecret,
} from "../../domain/access-key/connector-data.ts";
import { nothingToDo } from "../../domain/plan/plan.ts";
import { type Answers, answerTo, type ReconcileDecision, readOf } from "../question.ts";
import type { Reconciler } from "../reconciler.ts";
import { indexes } from "../stores.ts";
import type { World } from "../world.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

/** Secrets with the connector data of keys, in Latchkey's own namespace; reconciled by name. */
export function connectorDataKind({
  namespace,
}: KindContext): WatchedKind<ObservedConnectorSecret, World> {
  return {
    listOptions: {
      resource: resources.secrets,
      namespace,
      labelSelector: `${labels.component}=${components.connectorData}`,
      metadataOnly: true,
    },
    mayBeAt: (ref) => ref.namespace === namespace && ref.name !== ownObjects.signingKeys,
    parse: (raw) => ({ metadata: parseLatchkeyMetadata(raw), owner: ownerOf(raw) }),
    enqueue: ({ key }, { queues }) => queues.connectorData.add(refOf(key).name, "high"),
    enqueueAll: async ({ queues, stores }) => {
      for (const key of stores.connectorData.keys())
        queues.connectorData.add(refOf(key).name, "low");
    },
    reconciler: connectorDataReconciler,
  };
}

/** The key in the owner references of a Secret. */
function ownerOf(raw: unknown): ObservedConnectorSecret["owner"] {
  const owner = listAt(recordAt(raw, "metadata"), "ownerReferences").find(
    (reference) =>
      stringAt(reference, "kind") === resources.ownedAccessKeys.kind &&
      stringAt(reference, "apiVersion") === apiVersion,
  );
  const [name, uid] = [stringAt(owner, "name"), stringAt(owner, "uid")];
  return name === undefined || uid === undefined ? undefined : { name, uid };
}

const askAgainMs = 5_000;

/** Reconciles a Secret of connector data, by name, with the keys that reference it. */
export const connectorDataReconciler: Reconciler<World> = {
  queue: "connectorData",
  workers: ({ workers }) => workers,
  decide(name, world, answers) {
    const { stores, clock, options } = world;
    const secret = stores.connectorData.get(keyOf({ namespace: options.namespace, name }));
    if (secret === undefined) return disclaim(name, world, answers);
    const claimants = stores.keys.by(indexes.connectorData, name).map(({ metadata }) => metadata);
    const at = { now: clock.now(), keysAsOf: world.keysAsOf() };
    const decision = planConnectorSecret(secret, claimants, at);
    return decision.kind === "plan" ? decision.plan : confirm(decision, name, world, answers);
  },
};

/** Asks for the key in the API server first, because a mistake would delete a user's data. */
function confirm(
  { key, ifGone, otherwise }: Extract<ConnectorDecision, { kind: "confirm" }>,
  name: Key,
  world: World,
  answers: Answers,
): ReconcileDecision {
  const read = readOf(resources.ownedAccessKeys, { name: key.name });
  const uncached = answerTo(read, answers)?.object;
  if (uncached === undefined) return { questions: [read] };
  if (uncached.kind === "gone") return ifGone;
  const again = { decideAt: world.clock.now() + askAgainMs };
  if (uncached.kind === "unknown") return again;
  if (uncached.metadata.uid !== key.uid) return ifGone;
  return connectorDataRef(uncached.metadata.annotations)?.secret === name ? again : otherwise;
}

/**
 * Removes references to a Secret that does not exist. Confirms that with the API server, because
 * the watch of keys may be ahead of that of Secrets.
 */
function disclaim(
  name: Key,
  { stores, clock, options }: World,
  answers: Answers,
): ReconcileDecision {
  const keys = stores.keys
    .by(indexes.connectorData, name)
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (keys.length === 0) return nothingToDo;
  const read = readOf(resources.secrets, { namespace: options.namespace, name });
  const uncached = answerTo(read, answers)?.object;
  if (uncached === undefined) return { questions: [read] };
  if (uncached.kind !== "gone") return { decideAt: clock.now() + askAgainMs };
  return { ...nothingToDo, steps: [keys.map(({ metadata }) => removeConnectorDataRef(metadata))] };
}
