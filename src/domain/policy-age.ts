import type { Metadata } from "../api/object.ts";
import { instantOf } from "./lifetime.ts";

/** Since when all of the requester policies are there; milliseconds since the epoch. */
export interface PoliciesAge {
  readonly installedAt: number;
}

/** The age of the youngest of the policies named in `requesterPolicies` and of their bindings; undefined when one is missing. */
export function policiesAge(policiesAndBindings: readonly (Metadata | undefined)[]): PoliciesAge | undefined {
  const instants = policiesAndBindings.map((policy) => instantOf(policy?.creationTimestamp));
  const known = instants.filter((instant) => instant !== undefined);
  return known.length < instants.length ? undefined : { installedAt: Math.max(...known) };
}
