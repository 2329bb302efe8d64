import { managementEntry, managementPath } from "../../api/names.ts";
import { certificatesIn, type DirectAddress } from "./direct-address.ts";

/** How clients reach the gateway. */
interface GatewayAddress {
  /** https, without a path; undefined if the gateway does not know it. */
  readonly externalUrl: string | undefined;
  /** The CA of its certificates (PEM). */
  readonly ca: string;
}

/** The data of the ConfigMap that lists the connected clusters. */
interface ClusterList {
  /** A JSON document by the name of the cluster. */
  readonly data: Readonly<Record<string, string>>;
  /** How many clusters are not in it, because the ConfigMap would be too large. */
  readonly omitted: number;
}

/** A ConfigMap is at most 1 MiB (Kubernetes, ConfigMap); the fields of its manager count, too. */
const mostCharacters = 768 * 1024;

/** The clusters to list, by name, with their direct address. */
export type ListedClusters = ReadonlyMap<string, DirectAddress | undefined>;

/**
 * The list of these clusters: in the order of their names, up to its maximum size, after the
 * central cluster, if clients know an address of the gateway. Everything in it is public.
 */
export function clusterList(clusters: ListedClusters, gateway: GatewayAddress): ClusterList {
  const trust = trustIn(certificatesIn(gateway.ca));
  const { externalUrl } = gateway;
  const documentOf = (path: string, others: object = {}): string => {
    const server = externalUrl === undefined ? {} : { server: `${externalUrl}${path}` };
    return JSON.stringify({ gateway: { ...server, ...trust }, ...others }, undefined, 2);
  };
  const own = externalUrl === undefined ? [] : [[managementEntry, documentOf(managementPath)]];
  const entries: [string, string][] = [];
  let characters = own.flat().join("").length;
  const sorted = [...clusters.keys()].toSorted();
  for (const name of sorted) {
    const direct = clusters.get(name);
    const document = documentOf(
      `/kubernetes/cluster/${name}`,
      direct && { direct: { server: direct.server, ...trustIn(direct.ca ?? "") } },
    );
    characters += name.length + document.length;
    if (characters > mostCharacters) break;
    entries.push([name, document]);
  }
  const data = Object.fromEntries([...own, ...entries]);
  return { data, omitted: sorted.length - entries.length };
}

/** The CA of an address as in a kubeconfig; empty without certificates. */
function trustIn(certificates: string): { readonly certificateAuthorityData?: string } {
  return certificates === ""
    ? {}
    : { certificateAuthorityData: Buffer.from(certificates).toString("base64") };
}
