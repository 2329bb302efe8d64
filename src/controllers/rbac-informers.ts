import {
  type GrantBinding,
  type GrantRole,
  parseGrantBinding,
  parseGrantRole,
} from "../api/requester-grant.ts";
import { type Resource, resources } from "../api/resources.ts";
import {
  parseRole,
  parseRoleBinding,
  type ObservedRoleBinding,
  type ObservedRole,
} from "../api/role.ts";
import { derivedPrefix, sourceUidOf } from "../domain/shared-secret/derived-role.ts";
import { grantedNames, hashInName } from "../domain/grants/granted-names.ts";
import { Informer, type InformerDeps } from "../kube/informer.ts";
import type { Change } from "../kube/store.ts";
import { indexes } from "./stores.ts";

/** What is told of RBAC objects. */
export interface RbacHandlers {
  readonly role: (change: Change<ObservedRole | ObservedRoleBinding>) => void;
  readonly grant: (change: Change<GrantRole | GrantBinding>) => void;
}

/** Informers of what Latchkey derives from access rules, and of the grants of requesters. */
export interface RbacInformers {
  readonly roles: Informer<ObservedRole>;
  readonly roleBindings: Informer<ObservedRoleBinding>;
  readonly clusterRoles: Informer<GrantRole>;
  readonly clusterRoleBindings: Informer<GrantBinding>;
}

/** The informers of RBAC objects; what has nothing to do with Latchkey is not held. */
export function rbacInformers(deps: InformerDeps, on: RbacHandlers): RbacInformers {
  const derived = <T extends ObservedRole | ObservedRoleBinding>(
    resource: Resource,
    parse: (raw: unknown) => T,
  ): Informer<T> =>
    new Informer<T>(
      {
        listOptions: { resource },
        parse(raw) {
          const seen = parse(raw);
          return seen.metadata.name.startsWith(derivedPrefix) ? seen : undefined;
        },
        indexers: {
          [indexes.namespace]: ({ metadata }) => [metadata.namespace ?? ""],
          [indexes.sourceUid]: (seen) => optional(sourceUidOf(seen)),
        },
        onChange: on.role,
      },
      deps,
    );
  const roles = derived(resources.roles, parseRole);
  const roleBindings = derived(resources.roleBindings, parseRoleBinding);
  const clusterRoles = new Informer<GrantRole>(
    {
      listOptions: { resource: resources.clusterRoles },
      parse: (raw) => grantOnly(parseGrantRole(raw)),
      indexers: {
        [indexes.requester]: (role) => optional(hashInName(role)),
        [indexes.grantedName]: grantedNames,
      },
      onChange: on.grant,
    },
    deps,
  );
  const clusterRoleBindings = new Informer<GrantBinding>(
    {
      listOptions: { resource: resources.clusterRoleBindings },
      parse: (raw) => grantOnly(parseGrantBinding(raw)),
      indexers: { [indexes.requester]: (binding) => optional(hashInName(binding)) },
      onChange: on.grant,
    },
    deps,
  );
  return { roles, roleBindings, clusterRoles, clusterRoleBindings };
}

function grantOnly<T extends GrantRole | GrantBinding>(seen: T): T | undefined {
  return hashInName(seen) === undefined ? undefined : seen;
}

function optional(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}
