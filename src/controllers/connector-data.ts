import type { Result } from "../api/result.ts";
import { type Key, keyOf } from "../api/object.ts";
import { resources } from "../api/resources.ts";
import { connectorDataRef } from "../domain/access-key/connector-data-ref.ts";
import {
  removeConnectorDataRef,
  planConnectorSecret,
} from "../domain/access-key/connector-data.ts";
import type { Plan } from "../domain/plan/plan.ts";
import type { Client } from "../kube/client.ts";
import type { WatchReading } from "../runtime/metrics.ts";
import type { Clock } from "../runtime/clock.ts";
import { type ApplyPlanDeps, applyPlan } from "./apply-plan.ts";
import { readLive } from "./live-object.ts";
import { indexes, type Stores } from "./stores.ts";

/** Dependencies of {@link reconcileConnectorData}; `namespace` is Latchkey's own. */
export interface ConnectorDataDeps extends ApplyPlanDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly namespace: string;
  readonly stores: Stores;
  /** When the watch of each resource was opened, see {@link WatchReading}. */
  readonly watches: () => readonly Pick<WatchReading, "resource" | "openedAt">[];
}

const waitForChange: Result = { kind: "done" };
const askAgainMs = 5_000;

/** Reconciles the Secret `name` of connector data with the keys that reference it. */
export async function reconcileConnectorData(name: Key, deps: ConnectorDataDeps): Promise<Result> {
  const { stores, clock, namespace, watches } = deps;
  const secret = stores.connectorData.get(keyOf({ namespace, name }));
  if (secret === undefined) return disclaim(name, deps);
  const claimants = stores.keys.by(indexes.connectorData, name).map(({ metadata }) => metadata);
  const { plural } = resources.ownedAccessKeys;
  const { openedAt = 0 } = watches().find(({ resource }) => resource === plural) ?? {};
  const at = { now: clock.now(), keysAsOf: openedAt * 1000 };
  const decision = planConnectorSecret(secret, claimants, at);
  const plan = decision.kind === "plan" ? decision.plan : await confirmed(decision, name, deps);
  await applyPlan(plan, deps);
  return plan.result;
}

/**
 * Returns the plan after reading the key from the API server, because a mistake would delete a
 * user's data.
 */
async function confirmed(
  {
    key,
    ifGone,
    otherwise,
  }: {
    readonly key: { readonly name: string; readonly uid: string };
    readonly ifGone: Plan;
    readonly otherwise: Plan;
  },
  name: Key,
  { client, clock }: ConnectorDataDeps,
): Promise<Plan> {
  const live = await readLive(resources.ownedAccessKeys, { name: key.name }, client);
  if (live.kind === "gone") return ifGone;
  if (live.kind === "unknown")
    return { steps: [], result: { kind: "requeue-at", at: clock.now() + askAgainMs } };
  if (live.metadata.uid !== key.uid) return ifGone;
  const claims = connectorDataRef(live.metadata.annotations)?.secret === name;
  return claims
    ? { steps: [], result: { kind: "requeue-at", at: clock.now() + askAgainMs } }
    : otherwise;
}

/**
 * Removes references to a Secret that does not exist. Confirms that with the API server, because
 * the watch of keys may be ahead of that of Secrets.
 */
async function disclaim(name: Key, deps: ConnectorDataDeps): Promise<Result> {
  const { stores, clock, client, namespace } = deps;
  const keys = stores.keys
    .by(indexes.connectorData, name)
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (keys.length === 0) return waitForChange;
  const live = await readLive(resources.secrets, { namespace, name }, client);
  if (live.kind !== "gone") return { kind: "requeue-at", at: clock.now() + askAgainMs };
  await applyPlan({ steps: [keys.map(({ metadata }) => removeConnectorDataRef(metadata))] }, deps);
  return waitForChange;
}
