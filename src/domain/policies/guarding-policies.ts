import { requesterPolicies } from "../../api/names.ts";
import { type Resource, resources } from "../../api/resources.ts";
import { appliesAllOf, policyDigest, type PolicyReading } from "./policy-digest.ts";
import { shippedPolicies } from "./shipped-policies.ts";

/** A policy of Latchkey that denies requests, or writes who makes them. */
export interface GuardingPolicy {
  /** Of the policy and of its binding. */
  readonly name: string;
  /**
   * Its `policyDigest` in each version of Latchkey that ships one that is strict enough: clusters
   * may still have that one after an upgrade.
   */
  readonly digests: Readonly<Record<string, string>>;
}

/** What a cluster answers about a policy and its binding; undefined for one that is missing. */
export interface ObservedPolicy {
  readonly policy: unknown;
  readonly binding: unknown;
}

/** All policies that guard the central cluster; those that only warn are not among them. */
export const guardingPolicies: readonly GuardingPolicy[] = Object.entries(shippedPolicies).map(
  ([name, digests]) => ({ name, digests }),
);

function isMutating({ name }: Pick<GuardingPolicy, "name">): boolean {
  return name === requesterPolicies.annotations;
}

/** The resources of the policy and of its binding. */
export function resourcesOf(policy: Pick<GuardingPolicy, "name">): readonly [Resource, Resource] {
  return isMutating(policy)
    ? [resources.mutatingPolicies, resources.mutatingPolicyBindings]
    : [resources.validatingPolicies, resources.validatingPolicyBindings];
}

/** The policy and its binding in a sentence. */
export function policyTexts(
  policy: Pick<GuardingPolicy, "name">,
): readonly [policy: string, binding: string] {
  const [own, binding] = resourcesOf(policy);
  return [`${own.kind} "${policy.name}"`, `${binding.kind} "${policy.name}"`];
}

/** How a policy of a cluster differs from the shipped ones, a sentence without a period. */
export function policyDifference(
  expected: GuardingPolicy,
  { policy, binding }: ObservedPolicy,
  reading: PolicyReading,
): string | undefined {
  const [policyText, bindingText] = policyTexts(expected);
  // Before Kubernetes 1.36, a webhook does the work of the mutating one.
  if (policy === undefined)
    return isMutating(expected) ? undefined : `${policyText} does not exist`;
  if (binding === undefined) return `${bindingText} does not exist`;
  const bound = { name: expected.name, isMutating: isMutating(expected) };
  if (!appliesAllOf(bound, binding, reading))
    return `${bindingText} does not apply all that the policy decides`;
  return Object.values(expected.digests).includes(policyDigest(policy, reading))
    ? undefined
    : `${policyText} decides something else than that of Latchkey`;
}
