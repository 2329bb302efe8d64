import { isRecord } from "./parse.ts";
import {
  parseRole,
  parseRoleBinding,
  type ObservedRoleBinding,
  type ObservedRole,
} from "./role.ts";

/**
 * An existing ClusterRole; `aggregated` if it has an aggregation rule (Kubernetes RBAC, "Aggregated
 * ClusterRoles").
 */
export interface GrantRole extends ObservedRole {
  readonly aggregated: boolean;
}

/** An existing ClusterRoleBinding. */
export type GrantBinding = ObservedRoleBinding;

/** The kinds that requesters are granted. */
export type GrantedKind = "OwnedAccessKey" | "DirectClusterEndpointToken";

/** A key or a token. */
export interface GrantedObject {
  readonly kind: GrantedKind;
  readonly name: string;
}

/** Reads a ClusterRole; throws a TypeError that names the missing field of metadata. */
export function parseGrantRole(raw: unknown): GrantRole {
  return { ...parseRole(raw), aggregated: isRecord(raw) && isRecord(raw["aggregationRule"]) };
}

/** Reads a ClusterRoleBinding; throws a TypeError that names the missing field of metadata. */
export function parseGrantBinding(raw: unknown): GrantBinding {
  return parseRoleBinding(raw);
}
