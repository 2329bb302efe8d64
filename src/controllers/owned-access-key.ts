import type { KeyViews } from "../access/key-views.ts";
import type { Key } from "../api/object.ts";
import { type OwnedAccessKeyConfig, planOwnedAccessKey } from "../domain/owned-access-key.ts";
import { unknownRoles } from "../domain/scope/roles.ts";
import type { Next } from "../kube/loop.ts";
import type { Clock } from "../runtime/clock.ts";
import { type CarryOutDeps, carryOut } from "./carry-out.ts";
import { type GrantedReleaseDeps, observeGrant, planGrantedRelease } from "./grants.ts";
import { indexes, type Stores } from "./stores.ts";

/** What the passes over OwnedAccessKeys need. */
export interface OwnedAccessKeyDeps extends CarryOutDeps, Omit<GrantedReleaseDeps, "client" | "stores"> {
  readonly clock: Clock;
  readonly config: OwnedAccessKeyConfig;
  readonly stores: Stores;
  readonly keyViews: KeyViews;
}

/** One pass over an OwnedAccessKey: its status, its end and its farewell. */
export async function reconcileOwnedAccessKey(name: Key, deps: OwnedAccessKeyDeps): Promise<Next> {
  const { stores, keyViews, config } = deps;
  const key = stores.keys.get(name);
  if (key === undefined) return { kind: "wait-for-change" };
  const view = keyViews.viewOf(key);
  const missing = unknownRoles(key.spec.scope, (role) => stores.scopeRoles.countBy(indexes.scopeRole, role) > 0);
  const isGoing = key.metadata.deletionTimestamp !== undefined;
  const plan = isGoing
    ? await planGrantedRelease(key, { kind: "OwnedAccessKey", requester: view.requester }, deps)
    : planOwnedAccessKey({ ...view, grant: observeGrant({ kind: "OwnedAccessKey", name }, view.requester, stores), unknownRoles: missing, config }, deps.clock.now());
  await carryOut(plan, deps);
  return plan.next;
}
