import { labels } from "../../api/names.ts";
import type { Manifest, Metadata } from "../../api/object.ts";
import { apiVersionOf, type Resource, resources } from "../../api/resources.ts";
import type { ObservedRoleBinding, ObservedRole, Subject } from "../../api/role.ts";
import { distinct, subjectKey } from "./access-rules.ts";
import {
  bindingManifest,
  type DerivedRole,
  isAsWritten,
  isMarked,
  roleManifest,
} from "./derived-role.ts";
import { deleteWrite, type Write } from "../plan/plan.ts";

/** What stands in the namespace of a SharedSecret. */
export interface ObservedAccess {
  readonly secret: Metadata;
  /** Derived from this very object. */
  readonly roles: readonly ObservedRole[];
  readonly bindings: readonly ObservedRoleBinding[];
  /** Derived from an object that is certainly gone; removed whatever they grant. */
  readonly orphanedRoles: readonly ObservedRole[];
  readonly orphanedBindings: readonly ObservedRoleBinding[];
  /** Names of Roles and RoleBindings that somebody else holds. */
  readonly unmanaged: ReadonlySet<string>;
}

type Step = readonly Write[];

/**
 * The writes that turn what stands into `wanted`: first whoever is named nowhere any more is cut
 * off, then Roles and bindings are put up, then what is obsolete goes. A Role's permission is never
 * changed, so by these writes nobody ever holds what neither the state found nor the wanted one
 * grants, and whoever stays never loses access.
 */
export function accessSteps(seen: ObservedAccess, wanted: readonly DerivedRole[]): readonly Step[] {
  const possible = wanted.filter(({ name }) => !seen.unmanaged.has(name));
  const everybody = keysOf(wanted.flatMap(({ subjects }) => subjects));
  const bindings = seen.bindings.map((binding) =>
    traded(seen, readBinding(seen, binding, { wanted, everybody })),
  );
  return [
    [
      ...seen.orphanedBindings.map((binding) => deleteWrite(resources.roleBindings, binding)),
      ...bindings.flatMap(({ cut }) => cut),
    ],
    possible.flatMap((role) => putRole(seen, role)),
    possible.flatMap((role) => putBinding(seen, role, bindings)),
    bindings.flatMap((binding) => trim(seen, binding)),
    obsoleteRoles(seen, wanted),
  ].filter((step) => step.length > 0);
}

/**
 * The writes of an object that is being deleted, while its grants stay for those who wait for its
 * end: whoever the very Role of a binding is not wanted for is cut off at once, nobody gets
 * anything, and what is left over of objects that are gone goes.
 */
export function narrowingSteps(
  seen: ObservedAccess,
  wanted: readonly DerivedRole[],
): readonly Step[] {
  const cut = seen.bindings.flatMap((binding) => {
    const role = wanted.find(({ name }) => name === binding.metadata.name);
    const staying = keysOf(
      role !== undefined && standsAsWritten(seen, role.name) && pointsHome(binding)
        ? role.subjects
        : [],
    );
    const left = binding.subjects.filter((subject) => staying.has(subjectKey(subject)));
    if (left.length === 0) return [deleteWrite(resources.roleBindings, binding)];
    return left.length === binding.subjects.length ? [] : [narrowed(seen.secret, binding, left)];
  });
  return [
    [
      ...seen.orphanedBindings.map((binding) => deleteWrite(resources.roleBindings, binding)),
      ...cut,
    ],
    seen.orphanedRoles.map((role) => deleteWrite(resources.roles, role)),
  ].filter((step) => step.length > 0);
}

/** The writes that take everything back: bindings, then Roles. */
export function revokeSteps(seen: Omit<ObservedAccess, "unmanaged" | "secret">): readonly Step[] {
  const bindings = [...seen.bindings, ...seen.orphanedBindings];
  const roles = [...seen.roles, ...seen.orphanedRoles];
  return [
    bindings.map((binding) => deleteWrite(resources.roleBindings, binding)),
    roles.map((role) => deleteWrite(resources.roles, role)),
  ].filter((step) => step.length > 0);
}

/** A standing binding, what the first step does to it, and what is left of it afterwards. */
interface Reading {
  readonly binding: ObservedRoleBinding;
  readonly role: DerivedRole | undefined;
  readonly cut: Step;
  /** Subjects after the first step; undefined: the binding is gone by then. */
  readonly left: readonly Subject[] | undefined;
}

function readBinding(
  seen: ObservedAccess,
  binding: ObservedRoleBinding,
  {
    wanted,
    everybody,
  }: { readonly wanted: readonly DerivedRole[]; readonly everybody: ReadonlySet<string> },
): Reading {
  const role = wanted.find(({ name }) => name === binding.metadata.name);
  // Putting a missing or edited Role back revives its binding: then only whom that very Role is
  // wanted for may be in it.
  const stands = standsAsWritten(seen, binding.roleRef.name);
  const staying = stands ? everybody : keysOf(role?.subjects ?? []);
  const left = binding.subjects.filter((subject) => staying.has(subjectKey(subject)));
  const gone = {
    binding,
    role,
    cut: [deleteWrite(resources.roleBindings, binding)],
    left: undefined,
  };
  if (!pointsHome(binding)) return gone;
  if (left.length === binding.subjects.length) return { binding, role, cut: [], left };
  // The API server refuses to update a binding whose Role is missing or grants what the writer does
  // not hold.
  const writable = stands && (role !== undefined || left.length > 0);
  return writable ? { binding, role, cut: [narrowed(seen.secret, binding, left)], left } : gone;
}

/**
 * A binding that loses subjects gains the new ones in the same write: each costs the API server a
 * check of the writer's rights, for which it may wait 100 ms.
 */
function traded(seen: ObservedAccess, reading: Reading): Reading {
  const { binding, role, left, cut } = reading;
  if (cut.length === 0 || role === undefined || left === undefined) return reading;
  const both = distinct([...left, ...role.subjects]);
  return {
    ...reading,
    left: both,
    cut: [replacement(resources.roleBindings, bindingManifest(seen.secret, role, both), binding)],
  };
}

function putRole(seen: ObservedAccess, role: DerivedRole): Step {
  const standing = seen.roles.find(({ metadata }) => metadata.name === role.name);
  const manifest = roleManifest(seen.secret, role);
  if (standing === undefined)
    return [{ do: "create", resource: resources.roles, object: manifest }];
  if (isAsWritten(seen.secret, standing) && isMarked(seen.secret, role, standing)) return [];
  return [replacement(resources.roles, manifest, standing)];
}

function putBinding(seen: ObservedAccess, role: DerivedRole, bindings: readonly Reading[]): Step {
  const standing = bindings.find(
    ({ binding, left }) => binding.metadata.name === role.name && left !== undefined,
  );
  if (standing?.left === undefined) {
    return [
      {
        do: "create",
        resource: resources.roleBindings,
        object: bindingManifest(seen.secret, role, role.subjects),
      },
    ];
  }
  const held = keysOf(standing.left);
  const complete = role.subjects.every((subject) => held.has(subjectKey(subject)));
  if (complete && isMarked(seen.secret, role, standing.binding)) return [];
  const both = distinct([...standing.left, ...role.subjects]);
  return [
    replacement(resources.roleBindings, bindingManifest(seen.secret, role, both), standing.binding),
  ];
}

/**
 * Takes subjects out whose access now comes from another Role, and removes bindings that nothing
 * wants.
 */
function trim(seen: ObservedAccess, { binding, role, left }: Reading): Step {
  if (left === undefined) return [];
  if (role === undefined) return [deleteWrite(resources.roleBindings, binding)];
  const wanted = keysOf(role.subjects);
  if (left.every((subject) => wanted.has(subjectKey(subject)))) return [];
  return [
    replacement(resources.roleBindings, bindingManifest(seen.secret, role, role.subjects), binding),
  ];
}

function obsoleteRoles(seen: ObservedAccess, wanted: readonly DerivedRole[]): Step {
  const names = new Set(wanted.map(({ name }) => name));
  const obsolete = seen.roles.filter(({ metadata }) => !names.has(metadata.name));
  return [...obsolete, ...seen.orphanedRoles].map((role) => deleteWrite(resources.roles, role));
}

/** A policy refuses what carries no label of Latchkey's: one that somebody took off comes back. */
function narrowed(
  { uid }: Metadata,
  binding: ObservedRoleBinding,
  subjects: readonly Subject[],
): Write {
  const { apiGroup, kind, name } = binding.roleRef;
  const { namespace, labels: given, annotations } = binding.metadata;
  const manifest: Manifest = {
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
  };
  return replacement(resources.roleBindings, manifest, binding);
}

function pointsHome({ roleRef, metadata }: ObservedRoleBinding): boolean {
  return roleRef.kind === resources.roles.kind && roleRef.name === metadata.name;
}

function standsAsWritten(seen: ObservedAccess, name: string): boolean {
  const role = seen.roles.find(({ metadata }) => metadata.name === name);
  return role !== undefined && isAsWritten(seen.secret, role);
}

function keysOf(subjects: readonly Subject[]): ReadonlySet<string> {
  return new Set(subjects.map(subjectKey));
}

/** What others have put on the object beside stays. */
function replacement(
  resource: Resource,
  manifest: Manifest,
  { metadata: standing }: ObservedRole | ObservedRoleBinding,
): Write {
  const { uid, resourceVersion, finalizers } = standing;
  const metadata = {
    ...manifest.metadata,
    uid,
    resourceVersion,
    labels: { ...standing.labels, ...manifest.metadata.labels },
    annotations: { ...standing.annotations, ...manifest.metadata.annotations },
    ...(finalizers.length === 0 ? {} : { finalizers }),
  };
  return { do: "replace", resource, object: { ...manifest, metadata } };
}
