import { managementEntry, managementPath, ownObjects } from "../../api/names.ts";
import { recordAt, stringAt, stringMapAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import type { ClusterInfo } from "../../kube/credentials/kubeconfig-credentials.ts";
import { ConfigError } from "../../runtime/config-values.ts";
import { readFileBytes } from "../../runtime/read-text-file.ts";
import type { Cluster } from "./cluster.ts";

/** The documents of the list of connected clusters by name; rejects with a KubeError. */
export async function listedClusters(
  { get }: Pick<Cluster, "get">,
  namespace: string,
): Promise<Readonly<Record<string, string>>> {
  const ref = { namespace, name: ownObjects.clusterList };
  return stringMapAt(await get(resources.configMaps, ref), "data");
}

/** The address in a document of the list: of the gateway, or for direct tokens. */
export function addressIn(document: string, way: "gateway" | "direct"): ClusterInfo | undefined {
  const entry: unknown = JSON.parse(document);
  const address = recordAt(entry, way);
  const server = stringAt(address, "server") ?? "";
  if (!server.startsWith("https://")) return undefined;
  return clusterAt(server, stringAt(address, "certificateAuthorityData"));
}

/** The gateway that the list names for the central cluster; undefined if the user sees none. */
export async function publishedGateway(
  cluster: Pick<Cluster, "get">,
  namespace: string,
): Promise<ClusterInfo | undefined> {
  try {
    const { [managementEntry]: document } = await listedClusters(cluster, namespace);
    return document === undefined ? undefined : addressIn(document, "gateway");
  } catch (error) {
    if (isKubeError(error, "NotFound", "Forbidden")) return undefined;
    throw error;
  }
}

/** The central cluster behind the gateway at this URL, with or without its path. */
export function gatewayAt(url: string, caFile: string | undefined): ClusterInfo {
  const parsed = URL.parse(url);
  if (parsed?.protocol !== "https:")
    throw new ConfigError("--gateway", url, "must be an https URL of latchkey gateway");
  const path = parsed.pathname === "/" ? managementPath : parsed.pathname;
  const ca =
    caFile === undefined
      ? undefined
      : readFileBytes({ option: "--gateway-ca", path: caFile }).toString("base64");
  return clusterAt(parsed.origin + path, ca);
}

/** A cluster at an address, whose certificate has a CA in base64 or a public one. */
export function clusterAt(server: string, ca: string | undefined): ClusterInfo {
  return { server, ...(ca === undefined ? {} : { "certificate-authority-data": ca }) };
}

/** The content of a kubeconfig with one context, whose entries are called `latchkey-<name>`. */
export function kubeconfigContent(name: string, cluster: object, user: object): object {
  const entry = `latchkey-${name}`;
  return {
    apiVersion: "v1",
    kind: "Config",
    "current-context": entry,
    clusters: [{ name: entry, cluster }],
    users: [{ name: entry, user }],
    contexts: [{ name: entry, context: { cluster: entry, user: entry } }],
  };
}
