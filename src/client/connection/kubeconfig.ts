import { delimiter, resolve } from "node:path";
import { ownObjects } from "../../api/names.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import type { ClusterInfo } from "../../kube/credentials/kubeconfig-credentials.ts";
import { UsageError } from "../../runtime/config-values.ts";
import { readFileBytes } from "../../runtime/read-text-file.ts";
import type { Action, Cli, Flags } from "../cli.ts";
import { Failure } from "../failure.ts";
import { yamlText } from "../output.ts";
import { createPrivateFile } from "../private-files.ts";
import { addressIn, clusterAt, listedClusters, kubeconfigContent } from "./cluster-address.ts";
import type { Cluster } from "./cluster.ts";

/** `kubectl latchkey kubeconfig`. */
export const printKubeconfig: Action<"kubeconfig"> = async ({ flags, args: [name = ""] }, cli) => {
  const { address, addressCa, keyFile, outputFile, kubeconfig } = flags;
  if (address !== undefined && keyFile !== undefined)
    throw new UsageError("--address takes direct tokens, and --key-file is for the gateway");
  if (addressCa !== undefined && address === undefined)
    throw new UsageError("--address-ca requires --address");
  const cluster = await cli.connect(flags);
  const way =
    address === undefined
      ? await listedAddress(name, flags, cluster)
      : clusterAt(
          address,
          addressCa === undefined
            ? undefined
            : readFileBytes({ option: "--address-ca", path: addressCa }).toString("base64"),
        );
  const { context } = cluster.choice;
  if (context === "" && keyFile === undefined)
    throw new UsageError("the exec plugin needs a context of the kubeconfig; set --context");
  const user =
    keyFile === undefined
      ? execUser({
          context,
          kubeconfig: sourceOf(kubeconfig, cli),
          ttl: flags.ttl,
          forCluster: name,
        })
      : { tokenFile: resolve(keyFile) };
  const text = yamlText(kubeconfigContent(name, way, user));
  if (outputFile === undefined) return cli.terminal.print(text);
  createPrivateFile(outputFile, "--output-file").finish(text);
  cli.terminal.say(`wrote ${outputFile}; use it with kubectl --kubeconfig=${outputFile}`);
};

/**
 * The kubeconfig that the exec plugin reads: that of now, if it is one file, so that the plugin
 * also works where KUBECONFIG names the new file.
 */
function sourceOf(flag: string | undefined, { env }: Pick<Cli, "env">): string | undefined {
  const path = flag ?? env["KUBECONFIG"] ?? "";
  return path === "" || path.includes(delimiter) ? undefined : resolve(path);
}

/**
 * A user whose tokens come from this program, with the kubeconfig and context of now, for one
 * cluster.
 */
function execUser({
  context,
  forCluster,
  kubeconfig,
  ttl,
}: {
  readonly forCluster: string;
  readonly context: string;
  readonly kubeconfig: string | undefined;
  readonly ttl: number;
}): object {
  const args = [
    "token",
    "create",
    "--exec-credential",
    `--ttl=${ttl}`,
    `--for-cluster=${forCluster}`,
    ...(context === "" ? [] : [`--context=${context}`]),
    ...(kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]),
  ];
  return {
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "kubectl-latchkey",
      args,
      interactiveMode: "IfAvailable",
      installHint: "kubectl-latchkey is the command-line client of Latchkey",
    },
  };
}

/** The address of a cluster in the ConfigMap: of its direct endpoint, or of the gateway. */
async function listedAddress(
  name: string,
  { keyFile, latchkeyNamespace: namespace }: Flags<"kubeconfig">,
  cluster: Cluster,
): Promise<ClusterInfo> {
  const list = await listedClusters(cluster, namespace).catch((error: unknown) => {
    if (!isKubeError(error, "NotFound")) throw error;
    throw new Failure(
      `ConfigMap "${namespace}/${ownObjects.clusterList}" does not exist; set --address`,
      "notFound",
    );
  });
  const document = list[name];
  if (document === undefined)
    throw new Failure(`no cluster "${name}" is connected, or it is not listed`, "notFound");
  const way = addressIn(document, keyFile === undefined ? "direct" : "gateway");
  if (way === undefined)
    throw new Failure(
      keyFile === undefined
        ? `the list has no direct endpoint of cluster "${name}"; ` +
            "set --address to its address, or --key-file to a file with an access key for the " +
            "gateway"
        : `the list has no address of the gateway; set --external-url of latchkey gateway`,
    );
  return way;
}
