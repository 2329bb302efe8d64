import type { Metadata } from "../api/object.ts";
import { instantOf } from "./lifetime.ts";

/** Since when all of the requester policies are there; milliseconds since the epoch. */
export interface PoliciesAge {
  readonly installedAt: number;
}

/** The policies named in `requesterPolicies` and their bindings as they stand; undefined: not there. */
export interface RequesterPoliciesSeen {
  readonly stamp: Metadata | undefined;
  readonly stampBinding: Metadata | undefined;
  readonly lock: Metadata | undefined;
  readonly lockBinding: Metadata | undefined;
}

/** The age of the youngest of the four; undefined when one is missing. */
export function policiesAge({ stamp, stampBinding, lock, lockBinding }: RequesterPoliciesSeen): PoliciesAge | undefined {
  const instants = [stamp, stampBinding, lock, lockBinding].map((policy) => instantOf(policy?.creationTimestamp));
  const known = instants.filter((instant) => instant !== undefined);
  return known.length < instants.length ? undefined : { installedAt: Math.max(...known) };
}
