import type { Metadata } from "../../api/object.ts";
import { instantOf } from "../lifetime.ts";

/** When policies were installed, in milliseconds since the epoch. */
export interface PoliciesAge {
  readonly installedAt: number;
}

/**
 * The creation of the newest of these policies, bindings and webhooks; undefined if one is missing.
 */
export function policiesAge(
  policiesAndBindings: readonly (Metadata | undefined)[],
): PoliciesAge | undefined {
  const instants = policiesAndBindings.map((policy) => instantOf(policy?.creationTimestamp));
  const known = instants.filter((instant) => instant !== undefined);
  return known.length < instants.length ? undefined : { installedAt: Math.max(...known) };
}

/** The earliest of these installations; undefined if there is none. */
export function oldest(ages: readonly (PoliciesAge | undefined)[]): PoliciesAge | undefined {
  const instants = ages.flatMap((age) => (age === undefined ? [] : [age.installedAt]));
  return instants.length === 0 ? undefined : { installedAt: Math.min(...instants) };
}
