import type { Resource } from "../api/resources.ts";
import {
  type GuardingPolicy,
  guardingPolicies,
  type ObservedPolicy,
  policyDifference,
  resourcesOf,
} from "../domain/policies/guarding-policies.ts";
import type { Client } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/kube-error.ts";

/** Reads a policy and its binding; rejects with a KubeError. */
export async function readPolicy(
  policy: Pick<GuardingPolicy, "name">,
  client: Pick<Client, "get">,
): Promise<ObservedPolicy> {
  const find = async (resource: Resource): Promise<unknown> => {
    try {
      return await client.get(resource, { name: policy.name });
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    }
  };
  const [own, binding] = await Promise.all(resourcesOf(policy).map(find));
  return { policy: own, binding };
}

/** A policy of the central cluster, and how it differs from that of Latchkey, if it does. */
interface PolicyFinding {
  readonly policy: GuardingPolicy;
  readonly difference: string | undefined;
}

/**
 * Compares the policies of the central cluster, one after the other, with those of Latchkey, which
 * runs in this namespace. Rejects with a KubeError.
 */
export async function comparePolicies(
  client: Pick<Client, "get">,
  namespace: string,
): Promise<readonly PolicyFinding[]> {
  const findings: PolicyFinding[] = [];
  for (const policy of guardingPolicies) {
    const observed = await readPolicy(policy, client);
    const difference = policyDifference(policy, observed, { namespace, isCentral: true });
    findings.push({ policy, difference });
  }
  return findings;
}
