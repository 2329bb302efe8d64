import type { Subject } from "../../api/role.ts";
import type { SharedSecret } from "../../api/shared-secret.ts";
import type { Prefixes } from "../access-key/key-identity.ts";
import type { Write } from "../plan/plan.ts";
import { accessOf, subjectKey } from "./access-rules.ts";
import { accessSteps, type ObservedAccess, revokeSteps } from "./access.ts";
import { type DerivedRole, derivedRoles } from "./derived-role.ts";

/** What a change does to one Role or RoleBinding of a SharedSecret. */
export interface AccessChange {
  readonly kind: string;
  readonly name: string;
  readonly action: "create" | "replace" | "delete";
  /** Subjects that a RoleBinding gains and loses; empty for a Role. */
  readonly added: readonly Subject[];
  readonly removed: readonly Subject[];
}

/**
 * What a change of a SharedSecret does to its Roles and RoleBindings, by the plan of the
 * controller; `after` is undefined if the change deletes it.
 */
export function planAccess(
  observed: ObservedAccess,
  after: SharedSecret | undefined,
  prefixes: Prefixes,
  hasDataCopy = false,
): readonly AccessChange[] {
  const isLive = after !== undefined && after.metadata.deletionTimestamp === undefined;
  const wanted = isLive
    ? derivedRoles(after.metadata, accessOf(after, prefixes).grants, hasDataCopy)
    : [];
  const steps = isLive
    ? accessSteps({ ...observed, secret: after.metadata }, wanted)
    : revokeSteps(observed);
  const last = new Map<
    string,
    { readonly kind: string; readonly name: string; readonly isDelete: boolean }
  >();
  for (const write of steps.flat()) {
    const object = objectOf(write);
    if (object !== undefined) last.set(`${object.kind} ${object.name}`, object);
  }
  return [...last.values()].flatMap((object) => changeOf(object, observed, wanted) ?? []);
}

function objectOf(
  write: Write,
): { readonly kind: string; readonly name: string; readonly isDelete: boolean } | undefined {
  switch (write.do) {
    case "create":
    case "replace":
      return { kind: write.resource.kind, name: write.object.metadata.name, isDelete: false };
    case "delete":
      return { kind: write.resource.kind, name: write.ref.name, isDelete: true };
    case "dry-run-create":
    case "patch":
    case "record-event":
      return undefined;
  }
}

function changeOf(
  {
    kind,
    name,
    isDelete,
  }: { readonly kind: string; readonly name: string; readonly isDelete: boolean },
  observed: ObservedAccess,
  wanted: readonly DerivedRole[],
): AccessChange | undefined {
  const isBinding = kind === "RoleBinding";
  const bindings = [...observed.bindings, ...observed.orphanedBindings];
  const roles = [...observed.roles, ...observed.orphanedRoles];
  const existed = (isBinding ? bindings : roles).some(({ metadata }) => metadata.name === name);
  if (isDelete && !existed) return undefined;
  const was = bindings.find(({ metadata }) => metadata.name === name)?.subjects ?? [];
  const is = isDelete ? [] : (wanted.find((role) => role.name === name)?.subjects ?? []);
  return {
    kind,
    name,
    action: isDelete ? "delete" : existed ? "replace" : "create",
    added: isBinding ? without(is, was) : [],
    removed: isBinding ? without(was, is) : [],
  };
}

function without(subjects: readonly Subject[], others: readonly Subject[]): readonly Subject[] {
  const keys = new Set(others.map(subjectKey));
  return subjects.filter((subject) => !keys.has(subjectKey(subject)));
}
