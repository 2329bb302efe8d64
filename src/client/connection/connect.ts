import { CredentialsError, userFix } from "../../kube/credentials/credentials.ts";
import {
  chooseKubeconfig,
  kubeconfigPaths,
  readKubeconfigFiles,
} from "../../kube/credentials/kubeconfig.ts";
import { connectUser } from "../../kube/client/user-connection.ts";
import { isNamespaceName } from "../../runtime/config-values.ts";
import type { Environment } from "../../runtime/options.ts";
import { type Cluster, clusterOver } from "./cluster.ts";
import { variablesEntry, variablesKubeconfig, variablesSentence } from "./connection-variables.ts";
import type { ConnectionFlags } from "./connection-options.ts";
import { withProgress } from "../progress.ts";
import type { CliProcess } from "../cli.ts";
import type { Terminal } from "../terminal.ts";

/** A cluster whose connection must be closed. */
export interface OpenCluster extends Cluster {
  readonly close: () => void;
  /** Which connection it is, if it is that of variables. */
  readonly note: ConnectionNote | undefined;
}

/** A sentence for a user who may expect the connection of a kubeconfig. */
interface ConnectionNote {
  readonly sentence: string;
  /** Whether there is a kubeconfig; else it is said only if the command fails. */
  readonly isDue: boolean;
}

/**
 * Connects as the flags say, else the variables, else the kubeconfig; rejects with a UsageError or
 * a CredentialsError.
 */
export async function connect(
  flags: ConnectionFlags,
  { terminal, env, clock }: Pick<CliProcess, "terminal" | "env" | "clock">,
): Promise<OpenCluster> {
  const ofVariables = variablesKubeconfig(flags, env);
  const isOfVariables = ofVariables !== undefined;
  const files = isOfVariables ? [ofVariables] : readKubeconfigFiles(flags.kubeconfig, env);
  // Commands have flags of these names for other things.
  const entry = isOfVariables ? variablesEntry : undefined;
  const choice = chooseKubeconfig(files, {
    ...flags,
    cluster: entry,
    user: entry,
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
    env,
    clock,
    isInteractive: terminal.isInput,
    timeoutMs: flags.requestTimeout,
    onWarning: warner(terminal),
  });
  const transport = {
    request: (call: Parameters<typeof connection.request>[0]) =>
      withProgress(`waiting for ${choice.server}`, () => connection.request(call), {
        terminal,
        clock,
      }),
  };
  const sentence = variablesSentence(choice);
  return {
    ...clusterOver(transport, choice, { isOfVariables }),
    close: connection.close,
    note: isOfVariables ? { sentence, isDue: kubeconfigPaths(env).length > 0 } : undefined,
  };
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
 * Returns a function that says each warning of the API server once, as kubectl does; that of a
 * policy without what Kubernetes writes before it, which reads like a refusal.
 */
export function warner({ say }: Pick<Terminal, "say">): (text: string) => void {
  const said = new Set<string>();
  return (text) => {
    const { policy, warning } = policyWarning.exec(text)?.groups ?? {};
    if (!said.has(text))
      say(`warning: ${warning === undefined ? text : `${warning} (policy ${policy})`}`);
    said.add(text);
  };
}
