import type { ReviewedRequest } from "../../api/access-review.ts";
import { derivedCredentialsPolicy } from "../../api/names.ts";
import { recordAt, stringAt, stringsAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { instantOf } from "../lifetime.ts";
import { type Refusal, refusal } from "./refusal.ts";

/**
 * Whether a request writes a Secret. Its type decides whether it becomes a credential, and the head
 * of a request does not tell the type: an apply or a patch may create the Secret, too.
 */
export function writesSecret(request: ReviewedRequest): boolean {
  return (
    request.kind === "resource" &&
    request.group === "" &&
    request.resource === "secrets" &&
    ["create", "update", "patch"].includes(request.verb)
  );
}

/**
 * What a cluster answers about the policy and its binding; undefined for one that is missing.
 * Another administrator decides what it is, so nothing of it is taken for granted.
 */
interface ObservedPolicy {
  readonly policy: unknown;
  readonly binding: unknown;
}

const policyText = `${resources.validatingPolicies.kind} "${derivedCredentialsPolicy}"`;
const bindingText = `${resources.validatingPolicyBindings.kind} "${derivedCredentialsPolicy}"`;
const forbidden = "forbidden: a credential with a scope may not write Secrets here";

/** An API server enforces a new policy about a second after its creation. */
const settlingMs = 10_000;

/**
 * Why a request of a scoped credential may not write Secrets in a cluster, `now` in milliseconds
 * since the epoch; undefined if the cluster denies it the Secrets that become credentials.
 */
export function policyProblem(
  { policy, binding }: ObservedPolicy,
  now: number,
): Refusal | undefined {
  if (policy === undefined) return unguarded(`${policyText} does not exist in this cluster`);
  if (binding === undefined) return unguarded(`${bindingText} does not exist in this cluster`);
  const spec = recordAt(binding, "spec");
  const isEnforced =
    stringAt(spec, "policyName") === derivedCredentialsPolicy &&
    stringsAt(spec, "validationActions").includes("Deny") &&
    spec["matchResources"] === undefined;
  if (!isEnforced) return unguarded(`${bindingText} does not deny requests in all namespaces`);
  const isSettled = [policy, binding].every((object) => {
    const createdAt = instantOf(stringAt(recordAt(object, "metadata"), "creationTimestamp"));
    return createdAt !== undefined && createdAt + settlingMs <= now;
  });
  return isSettled
    ? undefined
    : refusal(503, "not-ready", `${policyText} is less than 10 s old in this cluster; retry`);
}

/** The refusal if the gateway may not read the policy. */
export const unreadablePolicy: Refusal = refusal(
  403,
  "scope",
  `${forbidden}: the account of the gateway in this cluster may not read ${policyText}; an ` +
    "administrator of the cluster must apply config/connected-cluster again",
);

/** The refusal if the cluster does not answer about the policy. */
export const unknownPolicy: Refusal = refusal(
  503,
  "not-ready",
  `${policyText} of this cluster could not be checked; retry`,
);

function unguarded(fact: string): Refusal {
  return refusal(
    403,
    "scope",
    `${forbidden}, because a Secret can become a credential without that scope: ${fact}; an ` +
      "administrator of the cluster must apply config/connected-policies",
  );
}
