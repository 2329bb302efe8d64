/** How clients reach the gateway. */
export interface GatewayAddress {
  /** https, without a path; undefined if the gateway does not know it. */
  readonly externalUrl: string | undefined;
  /** The CA of its certificates (PEM). */
  readonly ca: string;
}

/** The data of the ConfigMap that lists the connected clusters. */
export interface ClusterList {
  /** A JSON document by the name of the cluster. */
  readonly data: Readonly<Record<string, string>>;
  /** How many clusters are not in it, because the ConfigMap would be too large. */
  readonly omitted: number;
}

/** A ConfigMap is at most 1 MiB (Kubernetes, ConfigMap); the fields of its manager count, too. */
const mostCharacters = 768 * 1024;

/**
 * The list of these clusters: in the order of their names, up to its maximum size. Everything in it
 * is public.
 */
export function clusterList(names: readonly string[], gateway: GatewayAddress): ClusterList {
  const certificates = certificatesIn(gateway.ca);
  const trust =
    certificates === ""
      ? {}
      : { certificateAuthorityData: Buffer.from(certificates).toString("base64") };
  const entries: [string, string][] = [];
  let characters = 0;
  const sorted = names.toSorted();
  for (const name of sorted) {
    const server =
      gateway.externalUrl === undefined
        ? {}
        : { server: `${gateway.externalUrl}/kubernetes/cluster/${name}` };
    const document = JSON.stringify({ gateway: { ...server, ...trust } }, undefined, 2);
    characters += name.length + document.length;
    if (characters > mostCharacters) break;
    entries.push([name, document]);
  }
  return { data: Object.fromEntries(entries), omitted: sorted.length - entries.length };
}

/** The certificates of a PEM file, which may contain a key by mistake. */
function certificatesIn(pem: string): string {
  const blocks =
    pem.match(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => `${block}\n`).join("");
}
