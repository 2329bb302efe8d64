import type { Metadata } from "../../api/object.ts";
import { stringMapAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { SecretText } from "../../api/secret-text.ts";
import {
  type ClusterAccess,
  parseClusterKubeconfig,
} from "../../domain/gateway/cluster-kubeconfig.ts";
import { kubeconfigKey } from "../../domain/gateway/connected-cluster.ts";
import {
  certificatesIn,
  directKeys,
  parseDirectAddress,
} from "../../domain/gateway/direct-address.ts";
import { clusterKubeconfigYaml } from "../../kube/credentials/kubeconfig.ts";
import { UsageError } from "../../runtime/config-values.ts";
import { readTextFile } from "../../runtime/read-text-file.ts";
import type { Cluster } from "../connection/cluster.ts";
import type { Flags } from "../cli.ts";
import { kubeconfigContent } from "../connection/cluster-address.ts";
import { yamlText } from "../output.ts";

/** The options about where a connected cluster is reached. */
type AddressFlags = Pick<Flags<"clusterConnect">, "address" | "addressCa">;

/** Data of the Secret of a cluster in base64; null removes a key. */
export type ClusterData = Readonly<Record<string, SecretText | string | null>>;

type Data = Readonly<Record<string, string>>;

/** The decoded data of the Secret of a cluster; empty without one. */
export async function clusterDataOf(
  found: Metadata | undefined,
  { get }: Pick<Cluster, "get">,
): Promise<Data> {
  if (found === undefined) return {};
  const { namespace = "", name } = found;
  return dataIn(await get(resources.secrets, { namespace, name }));
}

/** The decoded data of a Secret. */
export function dataIn(secret: unknown): Data {
  const data = Object.entries(stringMapAt(secret, "data"));
  return Object.fromEntries(data.map(([key, text]) => [key, decoded(text)]));
}

/** The kubeconfig in the data of a Secret, if the gateway can use it. */
export function storedAccess({ [kubeconfigKey]: text }: Data): ClusterAccess | undefined {
  const read = text === undefined ? undefined : parseClusterKubeconfig(clusterKubeconfigYaml(text));
  return read?.kind === "access" ? read : undefined;
}

/** The address and CA of a cluster for its gateway: the given ones, or else the stored ones. */
export function gatewayAddress(
  { address, addressCa }: AddressFlags,
  stored: ClusterAccess | undefined,
): object {
  const ca = addressCa === undefined ? stored?.ca : certificatesIn(caIn(addressCa));
  const server = address ?? stored?.server;
  if (server === undefined || ca === undefined)
    throw new UsageError(
      "--gateway requires --address and --address-ca: where the gateway reaches the API server " +
        "of the connected cluster, and a file with its CA, such as the output of " +
        "kubectl --context=<connected cluster> -n kube-system get configmap kube-root-ca.crt " +
        "-o jsonpath='{.data.ca\\.crt}'",
    );
  const name = address === undefined ? stored?.serverName : undefined;
  return {
    server,
    "certificate-authority-data": encoded(ca),
    ...(name === undefined ? {} : { "tls-server-name": name }),
  };
}

/** A kubeconfig with a token; throws a UsageError, which does not quote the token. */
export function gatewayKubeconfig(name: string, address: object, token: string) {
  const text = yamlText(kubeconfigContent(name, address, { token }));
  const access = parseClusterKubeconfig(clusterKubeconfigYaml(text));
  if (access.kind === "refused")
    throw new UsageError(
      `--address, --address-ca and the token of the standard input make no kubeconfig that the ` +
        `gateway uses: ${access.problem}`,
    );
  return { access, data: { [kubeconfigKey]: new SecretText(encoded(text)) } };
}

/** What changes the stored address for direct tokens to the given one; empty if it is the same. */
export function directData({ address, addressCa }: AddressFlags, stored: Data): ClusterData {
  if (address === undefined)
    throw new UsageError(
      "--direct requires --address: where clients with direct tokens reach the connected cluster",
    );
  const parsed = parseDirectAddress(address, addressCa && caIn(addressCa));
  if (parsed === undefined || typeof parsed === "string")
    throw new UsageError(`--address and --address-ca are not usable: ${parsed}`);
  const wanted = { [directKeys.server]: parsed.server, [directKeys.ca]: parsed.ca };
  const changed = Object.entries(wanted).filter(([key, text]) => stored[key] !== text);
  return Object.fromEntries(
    changed.map(([key, text]) => [key, text === undefined ? null : encoded(text)]),
  );
}

const caIn = (path: string): string => readTextFile({ option: "--address-ca", path });
const encoded = (text: string): string => Buffer.from(text).toString("base64");
const decoded = (text: string): string => Buffer.from(text, "base64").toString();
