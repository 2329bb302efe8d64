import { labels } from "../../api/names.ts";
import type { Manifest, Metadata } from "../../api/object.ts";
import { apiVersionOf, type Resource, resources } from "../../api/resources.ts";
import type { ObservedRoleBinding, ObservedRole, Subject } from "../../api/role.ts";
import type { Wire } from "../../api/wire.ts";
import { distinct, subjectKey } from "./access-rules.ts";
import {
  bindingManifest,
  type DerivedRole,
  isAsWritten,
  isMarked,
  roleManifest,
} from "./derived-role.ts";
import { deleteWrite, type Write } from "../plan/plan.ts";

/** The existing Roles and RoleBindings in the namespace of a SharedSecret. */
export interface ObservedAccess {
  /** Derived from this object. */
  readonly roles: readonly ObservedRole[];
  readonly bindings: readonly ObservedRoleBinding[];
  /**
   * Derived from an object that was confirmed to be gone; deleted regardless of what they grant.
   */
  readonly orphanedRoles: readonly ObservedRole[];
  readonly orphanedBindings: readonly ObservedRoleBinding[];
  /** Names of Roles and RoleBindings that exist and are not managed by Latchkey. */
  readonly unmanaged: ReadonlySet<string>;
}

/** {@link ObservedAccess} of this SharedSecret. */
interface OwnedAccess extends ObservedAccess {
  readonly secret: Metadata;
}

type Step = readonly Write[];

/**
 * Returns the writes from the observed to the wanted state: first remove subjects that are not
 * wanted at all, then apply Roles and bindings, then remove obsolete ones. The permission of a Role
 * never changes, so no subject ever has access that neither state grants, and no wanted subject
 * loses access.
 */
export function accessSteps(
  observed: OwnedAccess,
  wanted: readonly DerivedRole[],
): readonly Step[] {
  const possible = wanted.filter(({ name }) => !observed.unmanaged.has(name));
  const allSubjects = keysOf(wanted.flatMap(({ subjects }) => subjects));
  const bindings = observed.bindings.map((binding) =>
    withAdditions(observed, readBinding(observed, binding, { wanted, allSubjects })),
  );
  return [
    [
      ...observed.orphanedBindings.map((binding) => deleteWrite(resources.roleBindings, binding)),
      ...bindings.flatMap(({ narrowing }) => narrowing),
    ],
    possible.flatMap((role) => putRole(observed, role)),
    possible.flatMap((role) => putBinding(observed, role, bindings)),
    bindings.flatMap((binding) => trim(observed, binding)),
    obsoleteRoles(observed, wanted),
  ].filter((step) => step.length > 0);
}

/**
 * Returns the writes for an object that is being deleted, while clients wait for its deletion:
 * subjects that are not wanted are removed at once, none are added, and orphaned Roles and bindings
 * are deleted.
 */
export function narrowingSteps(
  observed: OwnedAccess,
  wanted: readonly DerivedRole[],
): readonly Step[] {
  const narrowing = observed.bindings.flatMap((binding) => {
    const role = wanted.find(({ name }) => name === binding.metadata.name);
    const staying = keysOf(
      role !== undefined && roleIsAsWritten(observed, role.name) && refersToOwnRole(binding)
        ? role.subjects
        : [],
    );
    const remaining = binding.subjects.filter((subject) => staying.has(subjectKey(subject)));
    if (remaining.length === 0) return [deleteWrite(resources.roleBindings, binding)];
    return remaining.length === binding.subjects.length
      ? []
      : [narrowed(observed.secret, binding, remaining)];
  });
  return [
    [
      ...observed.orphanedBindings.map((binding) => deleteWrite(resources.roleBindings, binding)),
      ...narrowing,
    ],
    observed.orphanedRoles.map((role) => deleteWrite(resources.roles, role)),
  ].filter((step) => step.length > 0);
}

/** Returns the writes that revoke all access: bindings, then Roles. */
export function revokeSteps(observed: ObservedAccess): readonly Step[] {
  const bindings = [...observed.bindings, ...observed.orphanedBindings];
  const roles = [...observed.roles, ...observed.orphanedRoles];
  return [
    bindings.map((binding) => deleteWrite(resources.roleBindings, binding)),
    roles.map((role) => deleteWrite(resources.roles, role)),
  ].filter((step) => step.length > 0);
}

/** An existing binding, the writes of the first step, and its subjects afterwards. */
interface Reading {
  readonly binding: ObservedRoleBinding;
  readonly role: DerivedRole | undefined;
  readonly narrowing: Step;
  /** Subjects after the first step; undefined if that step deletes the binding. */
  readonly remaining: readonly Subject[] | undefined;
}

function readBinding(
  observed: OwnedAccess,
  binding: ObservedRoleBinding,
  {
    wanted,
    allSubjects,
  }: { readonly wanted: readonly DerivedRole[]; readonly allSubjects: ReadonlySet<string> },
): Reading {
  const role = wanted.find(({ name }) => name === binding.metadata.name);
  // Restoring a missing or edited Role makes its binding effective again, so the binding may only
  // contain the subjects of that Role.
  const isIntact = roleIsAsWritten(observed, binding.roleRef.name);
  const staying = isIntact ? allSubjects : keysOf(role?.subjects ?? []);
  const remaining = binding.subjects.filter((subject) => staying.has(subjectKey(subject)));
  const removed = {
    binding,
    role,
    narrowing: [deleteWrite(resources.roleBindings, binding)],
    remaining: undefined,
  };
  if (!refersToOwnRole(binding)) return removed;
  if (remaining.length === binding.subjects.length)
    return { binding, role, narrowing: [], remaining };
  // The API server rejects the update of a binding whose Role is missing or grants permissions that
  // the writer does not have.
  const writable = isIntact && (role !== undefined || remaining.length > 0);
  return writable
    ? { binding, role, narrowing: [narrowed(observed.secret, binding, remaining)], remaining }
    : removed;
}

/**
 * Adds new subjects in the write that removes others: for each write of a binding, the API server
 * checks the writer's permissions, which may take 100 ms.
 */
function withAdditions(observed: OwnedAccess, reading: Reading): Reading {
  const { binding, role, remaining, narrowing } = reading;
  if (narrowing.length === 0 || role === undefined || remaining === undefined) return reading;
  const both = distinct([...remaining, ...role.subjects]);
  const manifest = bindingManifest(observed.secret, role, both);
  const replace = replacement(resources.roleBindings, manifest, binding);
  return { ...reading, remaining: both, narrowing: [{ ...replace, isRemoval: true }] };
}

function putRole(observed: OwnedAccess, role: DerivedRole): Step {
  const existing = observed.roles.find(({ metadata }) => metadata.name === role.name);
  const manifest = roleManifest(observed.secret, role);
  if (existing === undefined)
    return [{ do: "create", resource: resources.roles, object: manifest }];
  if (isAsWritten(observed.secret, existing) && isMarked(observed.secret, role, existing))
    return [];
  const isRemoval = !isAsWritten(observed.secret, existing);
  return [{ ...replacement(resources.roles, manifest, existing), isRemoval }];
}

function putBinding(observed: OwnedAccess, role: DerivedRole, bindings: readonly Reading[]): Step {
  const existing = bindings.find(
    ({ binding, remaining }) => binding.metadata.name === role.name && remaining !== undefined,
  );
  if (existing?.remaining === undefined) {
    return [
      {
        do: "create",
        resource: resources.roleBindings,
        object: bindingManifest(observed.secret, role, role.subjects),
      },
    ];
  }
  const bound = keysOf(existing.remaining);
  const complete = role.subjects.every((subject) => bound.has(subjectKey(subject)));
  // A write of the first step has restored the marks.
  const isWritten = existing.narrowing.length > 0;
  if (complete && (isWritten || isMarked(observed.secret, role, existing.binding))) return [];
  const both = distinct([...existing.remaining, ...role.subjects]);
  return [
    replacement(
      resources.roleBindings,
      bindingManifest(observed.secret, role, both),
      existing.binding,
    ),
  ];
}

/** Removes subjects whose access now comes from another Role, and bindings that are not wanted. */
function trim(observed: OwnedAccess, { binding, role, remaining }: Reading): Step {
  if (remaining === undefined) return [];
  if (role === undefined) return [deleteWrite(resources.roleBindings, binding)];
  const wanted = keysOf(role.subjects);
  if (remaining.every((subject) => wanted.has(subjectKey(subject)))) return [];
  const manifest = bindingManifest(observed.secret, role, role.subjects);
  return [{ ...replacement(resources.roleBindings, manifest, binding), isRemoval: true }];
}

function obsoleteRoles(observed: OwnedAccess, wanted: readonly DerivedRole[]): Step {
  const names = new Set(wanted.map(({ name }) => name));
  const obsolete = observed.roles.filter(({ metadata }) => !names.has(metadata.name));
  return [...obsolete, ...observed.orphanedRoles].map((role) => deleteWrite(resources.roles, role));
}

/**
 * Replaces the subjects of a binding. Restores a removed label, because a policy rejects objects
 * without it.
 */
function narrowed(
  { uid }: Metadata,
  binding: ObservedRoleBinding,
  subjects: readonly Subject[],
): Write {
  const { apiGroup, kind, name } = binding.roleRef;
  const { namespace, labels: given, annotations } = binding.metadata;
  const manifest = {
    apiVersion: apiVersionOf(resources.roleBindings),
    kind: resources.roleBindings.kind,
    metadata: {
      ...(namespace === undefined ? {} : { namespace }),
      name,
      labels: { ...given, [labels.sourceUid]: uid },
      annotations,
      ownerReferences: binding.ownerReferences,
    },
    roleRef: { apiGroup, kind, name },
    subjects,
  } satisfies Wire<"RoleBinding">;
  return { ...replacement(resources.roleBindings, manifest, binding), isRemoval: true };
}

function refersToOwnRole({ roleRef, metadata }: ObservedRoleBinding): boolean {
  return roleRef.kind === resources.roles.kind && roleRef.name === metadata.name;
}

function roleIsAsWritten(observed: OwnedAccess, name: string): boolean {
  const role = observed.roles.find(({ metadata }) => metadata.name === name);
  return role !== undefined && isAsWritten(observed.secret, role);
}

function keysOf(subjects: readonly Subject[]): ReadonlySet<string> {
  return new Set(subjects.map(subjectKey));
}

type Replace = Extract<Write, { readonly do: "replace" }>;

/** Replaces an existing object; its labels, annotations and finalizers are kept. */
function replacement(
  resource: Resource,
  manifest: Manifest,
  { metadata: existing }: ObservedRole | ObservedRoleBinding,
): Replace {
  const { uid, resourceVersion, finalizers } = existing;
  const metadata = {
    ...manifest.metadata,
    uid,
    resourceVersion,
    labels: { ...existing.labels, ...manifest.metadata.labels },
    annotations: { ...existing.annotations, ...manifest.metadata.annotations },
    ...(finalizers.length === 0 ? {} : { finalizers }),
  };
  return { do: "replace", resource, object: { ...manifest, metadata } };
}
