import { requesterPolicies, sharePolicies } from "../../api/names.ts";
import type { ReportItem } from "../../api/report.ts";
import { readPolicy } from "../../policies/guarding-policies.ts";
import {
  type GuardingPolicy,
  guardingPolicies,
  policyDifference,
  resourcesOf,
} from "../../domain/policies/guarding-policies.ts";
import type { Cluster } from "../connection/cluster.ts";
import { plainItem } from "../report.ts";
import { type Checked, forbiddenItem } from "./lease-item.ts";

/** What is so without a policy; these are shown although they are well. */
const withoutPolicy: ReadonlyMap<string, string> = new Map([
  [requesterPolicies.lock, "no key and no token becomes valid"],
  [requesterPolicies.guard, "no key and no token becomes valid"],
  [sharePolicies.projects, "all who may write SharedSecrets share them with every project"],
  [sharePolicies.clusters, "all who may write SharedSecrets share them with every cluster"],
  [sharePolicies.outboxes, "all who may write Secrets share them with every connected cluster"],
  [sharePolicies.outboxNamespaces, "all who may write namespaces take an outbox from its policy"],
  [sharePolicies.sources, "all who may write SharedSecrets share the Secrets that name them"],
]);

/** What the policies of the cluster are; of most of them, only what is wrong. */
export async function policyItems(
  cluster: Cluster,
  namespace: string,
): Promise<readonly ReportItem[]> {
  const texts = {
    isCentral: true,
    config: "config/policies",
    consequence: "what it denies is allowed",
  };
  const items = await Promise.all(
    guardingPolicies.map((policy) => policyItem(policy, { cluster, namespace }, texts)),
  );
  return items.filter(
    ({ object, state }) => state === "problem" || withoutPolicy.has(object.name ?? ""),
  );
}

/** What is said of a policy of a cluster. */
interface PolicyTexts {
  readonly isCentral: boolean;
  /** The directory that has it. */
  readonly config: string;
  /** What is so without it, if {@link withoutPolicy} says nothing else. */
  readonly consequence: string;
}

/** What a policy of the cluster is, compared with that of this version. */
export async function policyItem(
  policy: GuardingPolicy,
  { cluster, namespace }: Pick<Checked, "cluster" | "namespace">,
  { isCentral, config, consequence }: PolicyTexts,
): Promise<ReportItem> {
  const object = { kind: resourcesOf(policy)[0].kind, name: policy.name };
  try {
    const observed = await readPolicy(policy, cluster);
    const difference = policyDifference(policy, observed, { namespace, isCentral });
    if (difference === undefined) return plainItem(object, ["ok", "Found"], "The policy exists.");
    if (observed.policy !== undefined)
      return plainItem(
        object,
        ["problem", "PolicyChanged"],
        `${difference}, so it may allow more; apply ${config} of this version.`,
      );
    const without = withoutPolicy.get(policy.name) ?? consequence;
    const message = `The policy does not exist, so ${without}; apply ${config}.`;
    return plainItem(object, ["problem", "NotFound"], message);
  } catch (error) {
    return forbiddenItem(object, error);
  }
}
