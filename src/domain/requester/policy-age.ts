import type { Metadata } from "../../api/object.ts";
import { instantOf } from "../lifetime.ts";

/** Since when policies are there; milliseconds since the epoch. */
export interface PoliciesAge {
  readonly installedAt: number;
}

/**
 * The age of the youngest of these policies, bindings and webhooks; undefined when one is missing.
 */
export function policiesAge(
  policiesAndBindings: readonly (Metadata | undefined)[],
): PoliciesAge | undefined {
  const instants = policiesAndBindings.map((policy) => instantOf(policy?.creationTimestamp));
  const known = instants.filter((instant) => instant !== undefined);
  return known.length < instants.length ? undefined : { installedAt: Math.max(...known) };
}

/** The age of the oldest; undefined when there is none. */
export function oldest(ages: readonly (PoliciesAge | undefined)[]): PoliciesAge | undefined {
  const instants = ages.flatMap((age) => (age === undefined ? [] : [age.installedAt]));
  return instants.length === 0 ? undefined : { installedAt: Math.min(...instants) };
}
