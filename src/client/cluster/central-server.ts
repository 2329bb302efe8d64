import { managementPath } from "../../api/names.ts";
import { withoutEnd } from "../../api/text-end.ts";
import { type ClusterInfo, clusterInfo } from "../../kube/credentials/kubeconfig-credentials.ts";
import { ConfigError, UsageError } from "../../runtime/config-values.ts";
import { readFileBytes } from "../../runtime/read-text-file.ts";
import { clusterAt, publishedGateway } from "../connection/cluster-address.ts";
import type { Cluster } from "../connection/cluster.ts";

/** The options about where an agent reaches the central cluster. */
interface CentralFlags {
  readonly centralServer: string | undefined;
  readonly centralCa: string | undefined;
}

/** A server that the user names. */
interface NamedServer {
  readonly url: URL;
  /** Certificates in base64, of --central-ca. */
  readonly ca: string | undefined;
}

/** The server of --central-server; undefined without it. Throws a UsageError. */
export function namedServer({ centralServer, centralCa }: CentralFlags): NamedServer | undefined {
  if (centralServer === undefined) {
    if (centralCa !== undefined) throw new UsageError("--central-ca requires --central-server");
    return undefined;
  }
  const url = new URL(centralServer);
  if (url.protocol !== "https:")
    throw new ConfigError("--central-server", centralServer, "must be an https URL");
  const ca =
    centralCa === undefined
      ? undefined
      : readFileBytes({ option: "--central-ca", path: centralCa }).toString("base64");
  return { url, ca };
}

/**
 * A named server, with the CA of the context if it has none; if it is the gateway that the central
 * cluster publishes, with the path and the CA of that.
 */
export async function centralServer(
  { url, ca }: NamedServer,
  latchkeyNamespace: string,
  cluster: Pick<Cluster, "get" | "choice">,
): Promise<ClusterInfo> {
  const path = withoutEnd(url.pathname, "/");
  const gateway = await publishedGateway(cluster, latchkeyNamespace);
  const isGateway =
    gateway !== undefined &&
    new URL(gateway.server).origin === url.origin &&
    (path === "" || path === managementPath);
  if (isGateway) return ca === undefined ? gateway : clusterAt(gateway.server, ca);
  const own = clusterInfo(cluster.choice)["certificate-authority-data"];
  return clusterAt(url.origin + path, ca ?? own);
}

/** Whether an address means the machine that uses it, so that no other one can. */
export function isLoopback({ server }: ClusterInfo): boolean {
  const host = URL.parse(server)?.hostname ?? "";
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
