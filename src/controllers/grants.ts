import type { Requester } from "../api/requester.ts";
import type { GrantedObject } from "../api/requester-grant.ts";
import { type Resource, resources } from "../api/resources.ts";
import { type FormerGrantee, granteeOfClusterRoleBinding } from "../domain/former-grantee.ts";
import { grantKey, grantState, type GrantState, requesterHash, shardPrefix } from "../domain/granted-names.ts";
import type { Plan } from "../domain/plan.ts";
import { planRelease, type Terminating } from "../domain/release.ts";
import { isSystemName } from "../domain/requester.ts";
import { afterPhase, observeRelease, type ReleaseDeps } from "./release.ts";
import { indexes, type Stores } from "./stores.ts";

/** What decides about the end of a key or token. */
export interface GrantedReleaseDeps extends ReleaseDeps {
  readonly stores: Pick<Stores, "clusterRoles" | "clusterRoleBindings">;
}

/** What to do for a key or token that is being deleted; its grants have passes of their own. */
export async function planGrantedRelease(object: Terminating, { kind, requester }: { readonly kind: GrantedObject["kind"]; readonly requester: Requester }, deps: GrantedReleaseDeps): Promise<Plan> {
  const { metadata } = object;
  const resource = grantedResources[kind];
  const { named } = observeGrant({ kind, name: metadata.name }, requester, deps.stores);
  const phase = await observeRelease({ resource, ref: metadata, grantsStand: named, grantees: granteesOf(requester) }, deps);
  return { ...planRelease(resource, object, { phase, now: deps.clock.now() }), next: afterPhase(phase, deps) };
}

const grantedResources: Readonly<Record<GrantedObject["kind"], Resource>> = {
  OwnedAccessKey: resources.ownedAccessKeys,
  DirectClusterEndpointToken: resources.endpointTokens,
};

function granteesOf(requester: Requester): readonly FormerGrantee[] {
  if (requester.kind === "unknown" || isSystemName(requester.name)) return [];
  const subject = { kind: "User", name: requester.name };
  return [granteeOfClusterRoleBinding(shardPrefix(requesterHash(requester.name)), { subject, verb: "get" })];
}

/** How the grants of one key or token stand. */
export function observeGrant(object: GrantedObject, requester: Requester, stores: Pick<Stores, "clusterRoles" | "clusterRoleBindings">): GrantState {
  const roles = stores.clusterRoles.by(indexes.grantedName, grantKey(object));
  return grantState(object, {
    requester: requester.kind === "known" ? requester.name : undefined,
    roles,
    bindings: roles.flatMap(({ metadata }) => stores.clusterRoleBindings.get(metadata.name) ?? []),
  });
}
