import { observeRequester } from "../access/requester-policies.ts";
import type { Key } from "../api/object.ts";
import { olderHolder } from "../domain/key-holder.ts";
import { type OwnedAccessKeyConfig, planOwnedAccessKey } from "../domain/owned-access-key.ts";
import type { Next } from "../kube/loop.ts";
import type { Clock } from "../runtime/clock.ts";
import { type CarryOutDeps, carryOut } from "./carry-out.ts";
import { observeGrant } from "./grants.ts";
import { indexes, type Stores } from "./stores.ts";

/** What the passes over OwnedAccessKeys need. */
export interface OwnedAccessKeyDeps extends CarryOutDeps {
  readonly clock: Clock;
  readonly config: OwnedAccessKeyConfig;
  readonly stores: Stores;
}

/** One pass over an OwnedAccessKey: its status, its end and its farewell. */
export async function reconcileOwnedAccessKey(name: Key, deps: OwnedAccessKeyDeps): Promise<Next> {
  const { stores, config } = deps;
  const key = stores.keys.get(name);
  if (key === undefined) return { kind: "wait-for-change" };
  const twins = key.keyDigest === undefined ? [] : stores.keys.by(indexes.digest, key.keyDigest);
  const requester = observeRequester(key.metadata, stores.requesterPolicies);
  const older = olderHolder(key.metadata, twins.map(({ metadata }) => metadata));
  const grant = observeGrant({ kind: "OwnedAccessKey", name }, requester, stores);
  const plan = planOwnedAccessKey({ key, requester, olderHolder: older, grant, config }, deps.clock.now());
  await carryOut(plan, deps);
  return plan.next;
}
