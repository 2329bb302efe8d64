import type { Requester } from "../api/requester.ts";
import type { GrantedObject } from "../api/requester-grant.ts";
import { grantKey, grantState, type GrantState } from "../domain/granted-names.ts";
import { indexes, type Stores } from "./stores.ts";

/** How the grants of one key or token stand. */
export function observeGrant(object: GrantedObject, requester: Requester, stores: Pick<Stores, "clusterRoles" | "clusterRoleBindings">): GrantState {
  const roles = stores.clusterRoles.by(indexes.grantedName, grantKey(object));
  return grantState(object, {
    requester: requester.kind === "known" ? requester.name : undefined,
    roles,
    bindings: roles.flatMap(({ metadata }) => stores.clusterRoleBindings.get(metadata.name) ?? []),
  });
}
