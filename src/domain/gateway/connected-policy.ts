import {
  derivedCredentialsPolicy,
  ownSecretsPolicy,
  projectAssignmentPolicy,
} from "../../api/names.ts";
import { recordAt, stringAt } from "../../api/parse.ts";
import { instantOf } from "../lifetime.ts";
import {
  type GuardingPolicy,
  type ObservedPolicy,
  policyDifference,
  policyTexts,
} from "../policies/guarding-policies.ts";
import { shippedPolicies } from "../policies/shipped-policies.ts";

/** A policy of `config/connected-policies`; other administrators apply it to their clusters. */
export interface ConnectedPolicy extends GuardingPolicy {
  /** The namespace of the accounts that it names, if that is not the one of `config/`. */
  readonly namespace?: string;
}

const shipped = <Name extends keyof typeof shippedPolicies>(name: Name) => ({
  name,
  digests: shippedPolicies[name],
});

/** The policies that something is allowed only with. */
export const connectedPolicies = {
  derivedCredentials: shipped(derivedCredentialsPolicy),
  projectAssignment: shipped(projectAssignmentPolicy),
  ownSecrets: shipped(ownSecretsPolicy),
} as const satisfies Readonly<Record<string, ConnectedPolicy>>;

/**
 * Why a cluster does not enforce a policy, or is not known to; `fact` is a sentence without a
 * period.
 */
export interface PolicyProblem {
  /** Settling: it counts in a few seconds. Unknown: the cluster does not answer. */
  readonly kind: "not-enforced" | "settling" | "unreadable" | "unknown";
  readonly fact: string;
}

/** What to do about a policy that does not count. */
const fixes: Readonly<Record<PolicyProblem["kind"], string>> = {
  "not-enforced": "; an administrator of the cluster must apply config/connected-policies",
  unreadable: "; an administrator of the cluster must apply the rights of this program again",
  settling: "",
  unknown: "",
};

/** A problem with what to do about it, as a sentence without a period. */
export function problemText({ kind, fact }: PolicyProblem): string {
  return fact + fixes[kind];
}

/** An API server enforces a new policy about a second after its creation. */
const settlingMs = 10_000;

/**
 * Why a cluster does not enforce a policy for all requests, `now` in milliseconds since the epoch;
 * undefined if it does.
 */
export function policyProblem(
  { namespace, ...expected }: ConnectedPolicy,
  { policy, binding }: ObservedPolicy,
  now: number,
): PolicyProblem | undefined {
  const difference = policyDifference(expected, { policy, binding }, { namespace });
  if (difference !== undefined)
    return { kind: "not-enforced", fact: `${difference} in this cluster` };
  const isSettled = [policy, binding].every((object) => {
    const createdAt = instantOf(stringAt(recordAt(object, "metadata"), "creationTimestamp"));
    return createdAt !== undefined && createdAt + settlingMs <= now;
  });
  const fact = `${policyTexts(expected)[0]} is less than 10 s old in this cluster`;
  return isSettled ? undefined : { kind: "settling", fact };
}

/** The problem if the account of the process may not read the policy. */
export function unreadablePolicy(policy: ConnectedPolicy): PolicyProblem {
  const fact = `the account of this program in this cluster may not read ${policyTexts(policy)[0]}`;
  return { kind: "unreadable", fact };
}

/** The problem if the cluster does not answer about the policy. */
export function unknownPolicy(policy: ConnectedPolicy): PolicyProblem {
  return {
    kind: "unknown",
    fact: `${policyTexts(policy)[0]} of this cluster could not be checked`,
  };
}
