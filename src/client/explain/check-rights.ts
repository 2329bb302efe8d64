import { group, managementEntry } from "../../api/names.ts";
import { stringAt, stringsAt } from "../../api/parse.ts";
import type { ReportItem } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { clustersResource } from "../cluster/connect-right.ts";
import { listedClusters } from "../connection/cluster-address.ts";
import type { Cluster } from "../connection/cluster.ts";
import { connectionVariables } from "../connection/connection-variables.ts";
import { type Right, rightText } from "../missing-right.ts";
import { plainItem } from "../report.ts";

/** Where rights are asked for. */
interface CheckedRights {
  readonly cluster: Cluster;
  /** The namespace that Latchkey runs in. */
  readonly namespace: string;
}

/** Who the user is, and what that user may do with Latchkey where its kinds are served. */
export async function identityItems(
  checked: CheckedRights,
  isConnected: boolean,
): Promise<readonly ReportItem[]> {
  const { cluster } = checked;
  const { userInfo } = await cluster.review(resources.selfReviews, {});
  const groups = stringsAt(userInfo, "groups");
  const user = { kind: "User", name: stringAt(userInfo, "username") ?? "" };
  const { namespace } = cluster.choice;
  const asked: readonly Right[] = isConnected
    ? []
    : [
        { verb: "create", resource: resources.sharedSecrets, namespace },
        { verb: "list", resource: resources.sharedSecrets, namespace },
        { verb: "create", resource: resources.ownedAccessKeys },
        { verb: "create", resource: resources.endpointTokens },
        ...(await clusterRights(checked)),
      ];
  const rights = asked.map(async (right): Promise<ReportItem> => {
    const { resource, ...attributes } = right;
    const { allowed } = await cluster.review(resources.selfAccessReviews, {
      resourceAttributes: { ...attributes, group, resource: resource.plural },
    });
    return allowed === true
      ? plainItem(user, ["info", "Allowed"], `You may ${rightText(right)}.`)
      : plainItem(user, ["info", "NotAllowed"], `You may not ${rightText(right)}.`);
  });
  const { server, key } = connectionVariables;
  const how = cluster.isOfVariables ? ` The connection is that of ${server} and ${key}.` : "";
  const own = `You are in the groups ${groups.join(", ")}.${how}`;
  return [plainItem(user, ["info", "Authenticated"], own), ...(await Promise.all(rights))];
}

const mostClusters = 16;

/** The rights to share with connected clusters, of which the list has some. */
async function clusterRights({ cluster, namespace }: CheckedRights): Promise<readonly Right[]> {
  const listed = await listedClusters(cluster, namespace).catch((error: unknown) => {
    if (isKubeError(error, "NotFound", "Forbidden")) return {};
    throw error;
  });
  return Object.keys(listed)
    .filter((name) => name !== managementEntry)
    .slice(0, mostClusters)
    .map((name) => ({ verb: "share", resource: clustersResource, name }));
}
