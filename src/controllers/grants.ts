import type { Requester } from "../api/requester.ts";
import type { Metadata } from "../api/object.ts";
import type { GrantedObject } from "../api/requester-grant.ts";
import { grantKey, grantState, type GrantState } from "../domain/granted-names.ts";
import { type PoliciesAge, policiesAge } from "../domain/policy-age.ts";
import { requesterOf } from "../domain/requester.ts";
import { indexes, type Stores } from "./stores.ts";

/** Who asked for an object, as far as the policies that stand can tell. */
export function observeRequester(metadata: Metadata, stores: Pick<Stores, "requesterPolicies">): Requester {
  return requesterOf(metadata, observePolicies(stores));
}

/** Since when the policies stand that make a requester certain. */
export function observePolicies({ requesterPolicies }: Pick<Stores, "requesterPolicies">): PoliciesAge | undefined {
  return policiesAge(requesterPolicies.map((store) => store.values().next().value));
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
