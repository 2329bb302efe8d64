import { group } from "../../api/names.ts";
import { resources } from "../../api/resources.ts";
import type { Cluster } from "../connection/cluster.ts";
import { Failure } from "../failure.ts";
import { rightText } from "../missing-right.ts";

/** Connected clusters, which are a resource for RBAC alone. */
export const clustersResource = { group, plural: "clusters", namespaced: false } as const;

/**
 * Rejects with a Failure if the user may not connect a cluster of this name: before anything is
 * made, of which the policy latchkey-outbox would refuse the rest.
 */
export async function requireConnect(
  name: string,
  { review }: Pick<Cluster, "review">,
): Promise<void> {
  const { plural: resource } = clustersResource;
  const { allowed } = await review(resources.selfAccessReviews, {
    resourceAttributes: { verb: "connect", group, resource, name },
  });
  if (allowed === true) return;
  const right = rightText({ verb: "connect", resource: clustersResource, name });
  throw new Failure(
    `you do not have the right ${right}; ` +
      "an administrator of the cluster can grant it with a ClusterRole",
    "forbidden",
  );
}
