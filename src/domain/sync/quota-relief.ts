import type { ObservedResourceQuota } from "../../api/resource-quota.ts";

/** How many more objects a changed quota allows; Infinity if it no longer limits them. */
export interface QuotaRelief {
  readonly secrets: number;
  /** Roles and RoleBindings. */
  readonly access: number;
}

const secretCounts = ["secrets", "count/secrets"] as const;
const accessCounts = [
  "count/roles.rbac.authorization.k8s.io",
  "count/rolebindings.rbac.authorization.k8s.io",
] as const;

/** Returns how many objects fit after a change of a quota; 0 unless it allows more than before. */
export function quotaRelief(
  before: ObservedResourceQuota | undefined,
  after: ObservedResourceQuota | undefined,
): QuotaRelief {
  return {
    secrets: reliefOf(secretCounts, before, after),
    access: reliefOf(accessCounts, before, after),
  };
}

/** Whether a quota has no room for another Secret. */
export function isFullForSecrets(quota: ObservedResourceQuota): boolean {
  return secretCounts.some((count) => roomOf(count, quota) <= 0);
}

function reliefOf(
  counts: readonly string[],
  before: ObservedResourceQuota | undefined,
  after: ObservedResourceQuota | undefined,
): number {
  const isRelieved = counts.some((count) => roomOf(count, after) > roomOf(count, before));
  return isRelieved ? Math.max(0, Math.min(...counts.map((count) => roomOf(count, after)))) : 0;
}

/**
 * How many more objects the quota allows; Infinity if it does not limit them, or if the limit has
 * an unknown form.
 */
function roomOf(count: string, quota: ObservedResourceQuota | undefined): number {
  const hard = quota?.hard.get(count);
  if (hard === undefined) return Infinity;
  return numberOf(hard, Infinity) - numberOf(quota?.used.get(count) ?? "0", 0);
}

const multiples = new Map([
  ["", 1],
  ["k", 1e3],
  ["M", 1e6],
  ["G", 1e9],
]);

/** Parses a quantity of whole objects in canonical form (Kubernetes API reference, Quantity). */
function numberOf(quantity: string, otherwise: number): number {
  const [, digits, suffix = ""] = /^(\d+)([kMG]?)$/.exec(quantity) ?? [];
  return digits === undefined ? otherwise : Number(digits) * (multiples.get(suffix) ?? 1);
}
