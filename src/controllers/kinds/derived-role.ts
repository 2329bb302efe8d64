import { type Resource, resources } from "../../api/resources.ts";
import {
  type ObservedRole,
  type ObservedRoleBinding,
  parseRole,
  parseRoleBinding,
} from "../../api/role.ts";
import { derivedPrefix, sourceUidOf } from "../../domain/shared-secret/derived-role.ts";
import type { Enqueuer } from "../enqueuer.ts";
import { indexes } from "../stores.ts";
import { indexedBy, type WatchedKind } from "./watched-kind.ts";

/** Roles that Latchkey derives from access rules. */
export function roleKind(): WatchedKind<ObservedRole> {
  return {
    ...derivedKind(resources.roles, parseRole),
    enqueueAll: (enqueuer) =>
      enqueuer.yielder.forEach(enqueuer.stores.roles.values(), (role) =>
        enqueuer.derivedFrom(role),
      ),
  };
}

/** RoleBindings that Latchkey derives from access rules. */
export function roleBindingKind(): WatchedKind<ObservedRoleBinding> {
  return {
    ...derivedKind(resources.roleBindings, parseRoleBinding),
    enqueueAll: (enqueuer) =>
      enqueuer.yielder.forEach(enqueuer.stores.roleBindings.values(), (binding) =>
        enqueuer.derivedFrom(binding),
      ),
  };
}

/** Only keeps objects whose names have Latchkey's prefix. */
function derivedKind<T extends ObservedRole | ObservedRoleBinding>(
  resource: Resource,
  parse: (raw: unknown) => T,
): WatchedKind<T> {
  return {
    listOptions: { resource },
    parse(raw) {
      const object = parse(raw);
      return object.metadata.name.startsWith(derivedPrefix) ? object : undefined;
    },
    indexers: {
      [indexes.namespace]: ({ metadata }) => [metadata.namespace ?? ""],
      [indexes.sourceUid]: (object) => indexedBy(sourceUidOf(object)),
    },
    enqueue({ before, after }, enqueuer: Enqueuer) {
      for (const object of [before, after]) if (object !== undefined) enqueuer.derivedFrom(object);
    },
  };
}
