import {
  derivedCredentialsPolicy,
  ownSecretsPolicy,
  projectAssignmentPolicy,
} from "../../api/names.ts";
import { recordAt, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { instantOf } from "../lifetime.ts";
import { deniesAllOf, policyDigest } from "../policies/policy-digest.ts";

/** A policy of `config/connected-policies`; other administrators apply it to their clusters. */
export interface ConnectedPolicy {
  /** Of the policy and of its binding. */
  readonly name: string;
  /**
   * The {@link policyDigest} in each version of Latchkey that ships one that is strict enough:
   * clusters may still have that one after an upgrade.
   */
  readonly digests: Readonly<Record<string, string>>;
  /** The namespace of the accounts that it names, if that is not the one of `config/`. */
  readonly namespace?: string;
}

/** The policies that something is allowed only with. */
export const connectedPolicies = {
  derivedCredentials: {
    name: derivedCredentialsPolicy,
    digests: { "0.1.0": "d6af4a82aa0b71ab8823d719de44dd9572547ff0a59ebe990566a4d70af1b310" },
  },
  projectAssignment: {
    name: projectAssignmentPolicy,
    digests: { "0.1.0": "9f77903312b6b6540da4a15e210cc9ce4bca4f9b14a3eb0cae69d9ae27df4bff" },
  },
  ownSecrets: {
    name: ownSecretsPolicy,
    digests: { "0.1.0": "4126182b60769ad42a04419ca48b9d6b97561df348b4ef174979bb107dd3fb40" },
  },
} as const satisfies Readonly<Record<string, ConnectedPolicy>>;

/**
 * What a cluster answers about a policy and its binding; undefined for one that is missing. Another
 * administrator decides what it is, so nothing of it is taken for granted.
 */
interface ObservedPolicy {
  readonly policy: unknown;
  readonly binding: unknown;
}

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
  { name, digests, namespace }: ConnectedPolicy,
  { policy, binding }: ObservedPolicy,
  now: number,
): PolicyProblem | undefined {
  const [policyText, bindingText] = textsOf(name);
  const missing = (fact: string): PolicyProblem => ({ kind: "not-enforced", fact });
  if (policy === undefined) return missing(`${policyText} does not exist in this cluster`);
  if (binding === undefined) return missing(`${bindingText} does not exist in this cluster`);
  if (!deniesAllOf(name, binding))
    return missing(`${bindingText} does not deny all requests that the policy denies`);
  if (!Object.values(digests).includes(policyDigest(policy, namespace)))
    return missing(`${policyText} in this cluster is not that of this version of Latchkey`);
  const isSettled = [policy, binding].every((object) => {
    const createdAt = instantOf(stringAt(recordAt(object, "metadata"), "creationTimestamp"));
    return createdAt !== undefined && createdAt + settlingMs <= now;
  });
  const fact = `${policyText} is less than 10 s old in this cluster`;
  return isSettled ? undefined : { kind: "settling", fact };
}

/** The problem if the account of the process may not read the policy. */
export function unreadablePolicy({ name }: ConnectedPolicy): PolicyProblem {
  const fact = `the account of this program in this cluster may not read ${textsOf(name)[0]}`;
  return { kind: "unreadable", fact };
}

/** The problem if the cluster does not answer about the policy. */
export function unknownPolicy({ name }: ConnectedPolicy): PolicyProblem {
  return { kind: "unknown", fact: `${textsOf(name)[0]} of this cluster could not be checked` };
}

function textsOf(name: string): readonly [policy: string, binding: string] {
  return [
    `${resources.validatingPolicies.kind} "${name}"`,
    `${resources.validatingPolicyBindings.kind} "${name}"`,
  ];
}
