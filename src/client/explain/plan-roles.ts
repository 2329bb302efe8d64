import type { Manifest, Metadata, ObjectRef } from "../../api/object.ts";
import { type Resource, resources } from "../../api/resources.ts";
import {
  type ObservedRole,
  type ObservedRoleBinding,
  parseRole,
  parseRoleBinding,
} from "../../api/role.ts";
import type { SharedSecret } from "../../api/shared-secret.ts";
import type { Prefixes } from "../../domain/access-key/key-identity.ts";
import type { ObservedAccess } from "../../domain/shared-secret/access.ts";
import { accessOf } from "../../domain/shared-secret/access-rules.ts";
import {
  bindingManifest,
  derivedRoles,
  isDerivedName,
  isMarkedWith,
  roleManifest,
} from "../../domain/shared-secret/derived-role.ts";
import { type AccessChange, planAccess } from "../../domain/shared-secret/plan-access.ts";
import type { Cluster } from "../connection/cluster.ts";
import { readWith } from "../missing-right.ts";

/** The Roles and RoleBindings of a namespace; undefined if the user may not list them. */
type LiveRoles =
  | {
      readonly roles: readonly ObservedRole[];
      readonly bindings: readonly ObservedRoleBinding[];
    }
  | undefined;

/**
 * For more namespaces, one list of all of them is tried first: it may have many more Roles, but
 * costs a request for each 500.
 */
const mostNamespaces = 20;

/** Reads the Roles and RoleBindings of namespaces, by namespace. */
export async function readRoles(
  namespaces: Iterable<string>,
  cluster: Cluster,
): Promise<ReadonlyMap<string, LiveRoles>> {
  const names = new Set(namespaces);
  const all = names.size > mostNamespaces ? await listRoles(cluster) : undefined;
  const roles = Map.groupBy(all?.roles ?? [], namespaceOf);
  const bindings = Map.groupBy(all?.bindings ?? [], namespaceOf);
  const found = new Map<string, LiveRoles>();
  for (const name of names)
    found.set(
      name,
      all === undefined
        ? await listRoles(cluster, name)
        : { roles: roles.get(name) ?? [], bindings: bindings.get(name) ?? [] },
    );
  return found;
}

function namespaceOf({ metadata }: ObservedRole | ObservedRoleBinding): string | undefined {
  return metadata.namespace;
}

/** The Roles and RoleBindings of a namespace; of all namespaces if absent. */
async function listRoles(cluster: Cluster, namespace?: string): Promise<LiveRoles> {
  const list = (resource: Resource) =>
    readWith<readonly unknown[]>(
      { verb: "list", resource, ...(namespace === undefined ? {} : { namespace }) },
      () => cluster.list(resource, namespace),
      [],
    );
  const [roles, bindings] = await Promise.all([
    list(resources.roles),
    list(resources.roleBindings),
  ]);
  if (roles.missing.length + bindings.missing.length > 0) return undefined;
  return {
    roles: roles.found.map(parseRole),
    bindings: bindings.found.map(parseRoleBinding),
  };
}

/** A change of a Role or RoleBinding of a SharedSecret. */
export interface PlannedAccess extends AccessChange {
  readonly sharedSecret: ObjectRef;
  /** Verbs of the Role, sorted. */
  readonly verbs: readonly string[];
  /** Whether the state before is assumed, because the user may not list Roles. */
  readonly assumed: boolean;
}

/** A SharedSecret before and after a change; `before` is undefined for a new one. */
export interface ChangedSecret {
  readonly before: SharedSecret | undefined;
  readonly after: SharedSecret;
  /** Whether its readers have a copy with the data of the Secret that it follows. */
  readonly hasDataCopy: boolean;
}

/** What the controller does to the Roles and RoleBindings of a SharedSecret. */
export function plannedAccess(
  { before, after, hasDataCopy }: ChangedSecret,
  live: LiveRoles,
  prefixes: Prefixes,
): readonly PlannedAccess[] {
  const observed =
    live === undefined
      ? assumedAccess(before, prefixes, hasDataCopy)
      : liveAccess(after.metadata, live);
  const wanted = derivedRoles(after.metadata, accessOf(after, prefixes).grants, hasDataCopy);
  const verbsOf = (name: string): readonly string[] =>
    wanted.find((role) => role.name === name)?.permission.verbs ??
    observed.roles.find(({ metadata }) => metadata.name === name)?.rules[0]?.verbs ??
    [];
  const { namespace = "", name } = after.metadata;
  return planAccess(observed, after, prefixes, hasDataCopy).map((change) => ({
    ...change,
    sharedSecret: { namespace, name },
    verbs: verbsOf(change.name),
    assumed: live === undefined && before !== undefined,
  }));
}

function liveAccess(secret: Metadata, { roles, bindings }: NonNullable<LiveRoles>): ObservedAccess {
  const isOwn = (seen: ObservedRole | ObservedRoleBinding): boolean =>
    isMarkedWith(secret.uid, seen) && isDerivedName(secret, seen.metadata.name);
  const unmanaged = [...roles, ...bindings].filter((seen) => !isOwn(seen));
  return {
    roles: roles.filter(isOwn),
    bindings: bindings.filter(isOwn),
    orphanedRoles: [],
    orphanedBindings: [],
    unmanaged: new Set(unmanaged.map(({ metadata }) => metadata.name)),
  };
}

/** What the controller wrote for a SharedSecret. */
function assumedAccess(
  before: SharedSecret | undefined,
  prefixes: Prefixes,
  hasDataCopy: boolean,
): ObservedAccess {
  const written =
    before === undefined
      ? []
      : derivedRoles(before.metadata, accessOf(before, prefixes).grants, hasDataCopy);
  const stored = ({ metadata, ...rest }: Manifest) => ({
    ...rest,
    metadata: { ...metadata, uid: "", resourceVersion: "", creationTimestamp: "" },
  });
  const of = before?.metadata;
  return {
    roles: of === undefined ? [] : written.map((role) => parseRole(stored(roleManifest(of, role)))),
    bindings:
      of === undefined
        ? []
        : written.map((role) => parseRoleBinding(stored(bindingManifest(of, role, role.subjects)))),
    orphanedRoles: [],
    orphanedBindings: [],
    unmanaged: new Set(),
  };
}
