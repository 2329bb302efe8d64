import { CredentialsError, userFix } from "../../../kube/credentials/credentials.ts";
import { chooseKubeconfig, readKubeconfigFiles } from "../../../kube/credentials/kubeconfig.ts";
import { connectUser } from "../../../kube/client/user-connection.ts";
import { isNamespaceName } from "../../../runtime/config-values.ts";
import type { Environment } from "../../../runtime/options.ts";
import { type Cluster, clusterOver } from "./cluster.ts";
import type { ConnectionFlags } from "./connection-options.ts";
import { withProgress } from "../progress.ts";
import type { CliProcess } from "../cli.ts";

/** A cluster whose connection must be closed. */
export interface OpenCluster extends Cluster {
  readonly close: () => void;
}

/** Connects as the flags and the kubeconfig say; rejects with a CredentialsError. */
export async function connect(
  flags: ConnectionFlags,
  { terminal, env, clock }: Pick<CliProcess, "terminal" | "env" | "clock">,
): Promise<OpenCluster> {
  const files = readKubeconfigFiles(flags.kubeconfig, env);
  const choice = chooseKubeconfig(files, {
    ...flags,
    // Commands have flags of these names for other things.
    cluster: undefined,
    user: undefined,
    asGroups: flags.asGroup,
    insecureSkipTlsVerify: flags.insecureSkipTlsVerify ? true : undefined,
  });
  if (typeof choice === "string")
    throw new CredentialsError(files.length === 0 ? noKubeconfig(env) : choice, userFix);
  if (!isNamespaceName(choice.namespace))
    throw new CredentialsError(
      `the context "${choice.context}" has the namespace "${choice.namespace}", ` +
        "which is not the name of a namespace",
      userFix,
    );
  const connection = await connectUser(choice, {
    ...{ env, clock },
    isInteractive: terminal.isInput,
    timeoutMs: flags.requestTimeout,
    onWarning: (text) => terminal.say(`warning: ${warningText(text)}`),
  });
  const transport = {
    request: (call: Parameters<typeof connection.request>[0]) =>
      withProgress(`waiting for ${choice.server}`, () => connection.request(call), {
        terminal,
        clock,
      }),
  };
  return { ...clusterOver(transport, choice), close: connection.close };
}

function noKubeconfig(env: Environment): string {
  const named = env["KUBECONFIG"] ?? "";
  return named === ""
    ? "there is no kubeconfig: ~/.kube/config does not exist"
    : `there is no kubeconfig: KUBECONFIG is ${JSON.stringify(named)}, and no such file exists`;
}

const policyWarning = new RegExp(
  "^Validation failed for ValidatingAdmissionPolicy '(?<policy>[^']+)' " +
    "with binding '[^']+': (?<warning>.*)$",
  "s",
);

/**
 * A warning of the API server; that of a policy without what Kubernetes writes before it, which
 * reads like a refusal.
 */
export function warningText(text: string): string {
  const { policy, warning } = policyWarning.exec(text)?.groups ?? {};
  return warning === undefined ? text : `${warning} (policy ${policy})`;
}
