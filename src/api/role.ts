import type { Metadata, OwnerReference } from "./object.ts";
import {
  isRecord,
  isTrueAt,
  listAt,
  parseMetadata,
  recordAt,
  stringAt,
  stringsAt,
} from "./parse.ts";
import type { resources } from "./resources.ts";

/** A rule about resources (Kubernetes API reference, PolicyRule). */
export interface ResourceRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly verbs: readonly string[];
}

/** Kubernetes API reference, PolicyRule; absent lists are empty. */
export interface PolicyRule extends ResourceRule {
  readonly nonResourceURLs: readonly string[];
}

/** Kubernetes API reference, Subject. */
export interface Subject {
  readonly kind: string;
  readonly apiGroup?: string;
  readonly name: string;
  readonly namespace?: string;
}

/** Kubernetes API reference, RoleRef. */
interface RoleRef {
  readonly apiGroup: string;
  readonly kind: string;
  readonly name: string;
}

/** An existing Role or ClusterRole. */
export interface ObservedRole {
  readonly metadata: Metadata;
  readonly ownerReferences: readonly OwnerReference[];
  readonly rules: readonly PolicyRule[];
}

/**
 * An existing ClusterRole; `aggregated` if it has an aggregation rule (Kubernetes RBAC, "Aggregated
 * ClusterRoles").
 */
export interface GrantRole extends ObservedRole {
  readonly aggregated: boolean;
}

/** An existing RoleBinding or ClusterRoleBinding. */
export interface ObservedRoleBinding {
  readonly metadata: Metadata;
  readonly ownerReferences: readonly OwnerReference[];
  readonly roleRef: RoleRef;
  readonly subjects: readonly Subject[];
}

/** The kinds of objects to which requesters are granted access. */
export type GrantedKind =
  | typeof resources.ownedAccessKeys.kind
  | typeof resources.endpointTokens.kind;

/** An OwnedAccessKey or a DirectClusterEndpointToken. */
export interface GrantedObject {
  readonly kind: GrantedKind;
  readonly name: string;
}

/** Parses a Role or ClusterRole; throws a TypeError that names the missing metadata field. */
export function parseRole(raw: unknown): ObservedRole {
  return {
    metadata: parseMetadata(raw),
    ownerReferences: parseOwners(raw),
    rules: listAt(raw, "rules").map(parseRule),
  };
}

/** Parses a ClusterRole; throws a TypeError that names the missing metadata field. */
export function parseGrantRole(raw: unknown): GrantRole {
  return { ...parseRole(raw), aggregated: isRecord(raw) && isRecord(raw["aggregationRule"]) };
}

/**
 * Parses a RoleBinding or ClusterRoleBinding; throws a TypeError that names the missing metadata
 * field.
 */
export function parseRoleBinding(raw: unknown): ObservedRoleBinding {
  const roleRef = recordAt(raw, "roleRef");
  return {
    metadata: parseMetadata(raw),
    ownerReferences: parseOwners(raw),
    roleRef: {
      apiGroup: stringAt(roleRef, "apiGroup") ?? "",
      kind: stringAt(roleRef, "kind") ?? "",
      name: stringAt(roleRef, "name") ?? "",
    },
    subjects: listAt(raw, "subjects").map(parseSubject),
  };
}

/** Parses the owner references of an object. */
export function parseOwners(raw: unknown): readonly OwnerReference[] {
  return listAt(recordAt(raw, "metadata"), "ownerReferences")
    .filter(isRecord)
    .map((entry) => ({
      apiVersion: stringAt(entry, "apiVersion") ?? "",
      kind: stringAt(entry, "kind") ?? "",
      name: stringAt(entry, "name") ?? "",
      uid: stringAt(entry, "uid") ?? "",
      ...(isTrueAt(entry, "controller") ? { controller: true } : {}),
      ...(isTrueAt(entry, "blockOwnerDeletion") ? { blockOwnerDeletion: true } : {}),
    }));
}

/** Parses a PolicyRule; absent lists are empty. */
export function parseRule(rule: unknown): PolicyRule {
  return {
    apiGroups: stringsAt(rule, "apiGroups"),
    resources: stringsAt(rule, "resources"),
    resourceNames: stringsAt(rule, "resourceNames"),
    verbs: stringsAt(rule, "verbs"),
    nonResourceURLs: stringsAt(rule, "nonResourceURLs"),
  };
}

function parseSubject(subject: unknown): Subject {
  const apiGroup = stringAt(subject, "apiGroup");
  const namespace = stringAt(subject, "namespace");
  return {
    kind: stringAt(subject, "kind") ?? "",
    name: stringAt(subject, "name") ?? "",
    ...(apiGroup === undefined || apiGroup === "" ? {} : { apiGroup }),
    ...(namespace === undefined || namespace === "" ? {} : { namespace }),
  };
}
