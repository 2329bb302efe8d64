import type { EndpointToken } from "../api/endpoint-token.ts";
import type { Key } from "../api/object.ts";
import type { OwnedAccessKeySeen } from "../api/owned-access-key.ts";
import type { GrantedKind, GrantedObject } from "../api/requester-grant.ts";
import { isHeld } from "../domain/finalizer.ts";
import { planRequesterGrant } from "../domain/requester-grant.ts";
import type { Next } from "../kube/loop.ts";
import type { Logger } from "../runtime/log.ts";
import { type CarryOutDeps, carryOut } from "./carry-out.ts";
import { observeRequester } from "./grants.ts";
import { indexes, type Stores } from "./stores.ts";

/** What the passes over the grants of requesters need. */
export interface RequesterGrantDeps extends CarryOutDeps {
  readonly log: Logger;
  readonly stores: Stores;
}

/** One pass over all that one requester, named by its hash, is granted. */
export async function reconcileRequesterGrant(hash: Key, deps: RequesterGrantDeps): Promise<Next> {
  const { stores } = deps;
  const keys = owned("OwnedAccessKey", stores.keys.by(indexes.requester, hash), stores);
  const tokens = owned("DirectClusterEndpointToken", stores.tokens.by(indexes.requester, hash), stores);
  const wanted = [...keys, ...tokens];
  const plan = planRequesterGrant({
    hash,
    requester: wanted[0]?.requester,
    wanted: wanted.map(({ object }) => object),
    roles: stores.clusterRoles.by(indexes.requester, hash),
    bindings: stores.clusterRoleBindings.by(indexes.requester, hash),
  });
  if (plan.conflicts.length > 0) deps.log.warn({ names: plan.conflicts }, "names of requester grants are somebody else's");
  await carryOut(plan, deps);
  return plan.next;
}

interface Owned {
  readonly object: GrantedObject;
  readonly requester: string;
}

/** The objects whose requester is certain, that cannot go without Latchkey and that are not going. */
function owned(kind: GrantedKind, objects: readonly (OwnedAccessKeySeen | EndpointToken)[], stores: Stores): readonly Owned[] {
  return objects.flatMap(({ metadata }) => {
    const requester = observeRequester(metadata, stores);
    const isLasting = isHeld(metadata) && metadata.deletionTimestamp === undefined;
    return requester.kind === "known" && isLasting ? [{ object: { kind, name: metadata.name }, requester: requester.name }] : [];
  });
}
