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

/** The kinds of objects to which requesters are granted access. */
export type GrantedKind = "OwnedAccessKey" | "DirectClusterEndpointToken";

/** An OwnedAccessKey or a DirectClusterEndpointToken. */
export interface GrantedObject {
  readonly kind: GrantedKind;
  readonly name: string;
}

/** Parses a ClusterRole; throws a TypeError that names the missing metadata field. */
export function parseGrantRole(raw: unknown): GrantRole {
  return { ...parseRole(raw), aggregated: isRecord(raw) && isRecord(raw["aggregationRule"]) };
}

/** Parses a ClusterRoleBinding; throws a TypeError that names the missing metadata field. */
export function parseGrantBinding(raw: unknown): GrantBinding {
  return parseRoleBinding(raw);
}
