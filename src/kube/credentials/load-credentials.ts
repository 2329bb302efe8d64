import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../runtime/clock.ts";
import { errorCode } from "../../runtime/read-text-file.ts";
import type { Environment } from "../../runtime/options.ts";
import {
  type Credentials,
  CredentialsError,
  bearerFrom,
  cachedAuthorization,
} from "./credentials.ts";
import type { KubeconfigChoice } from "./kubeconfig.ts";

/** What decides about the credentials of a process. */
interface CredentialsSource {
  /** Path of a kubeconfig; takes precedence over the pod. */
  readonly kubeconfig: string | undefined;
  /** Variables of the process; the kubelet sets those of the API server in every container. */
  readonly env: Environment;
}

/**
 * Reads the credentials of the current context of a kubeconfig, or of the pod's ServiceAccount if
 * no kubeconfig is set. Rejects with a CredentialsError.
 */
export async function loadCredentials(
  { kubeconfig, env }: CredentialsSource,
  clock: Clock,
): Promise<Credentials> {
  if (kubeconfig !== undefined) return processCredentials(kubeconfig, { env, clock, of: "this" });
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "" } = env;
  if (host !== "" && port !== "") return podCredentials({ host, port }, clock);
  throw new CredentialsError(
    "no kubeconfig is set and this is not a pod " +
      "(KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set)",
  );
}

/**
 * Reads the credentials of a kubeconfig that the administrator of another cluster has written. One
 * that names a program or a file is rejected: the program would run as this process, and the file
 * may have the token of its ServiceAccount, which the other cluster would get.
 */
export function foreignCredentials(kubeconfig: string, clock: Clock): Promise<Credentials> {
  return processCredentials(kubeconfig, { env: {}, clock, of: "another" });
}

interface ProcessKubeconfig {
  readonly env: Environment;
  readonly clock: Clock;
  /** Whose administrator has written the kubeconfig: that of this cluster, or of another one. */
  readonly of: "this" | "another";
}

const foreignFix = "use the kubeconfig that kubectl latchkey cluster connect prints";

/** Those of a kubeconfig, for a process: an error says which file it is. */
async function processCredentials(
  path: string,
  { env, clock, of }: ProcessKubeconfig,
): Promise<Credentials> {
  // In a pod, two files are enough: a parser of YAML is not needed.
  const { chooseKubeconfig, readKubeconfigFiles } = await import("./kubeconfig.ts");
  const { kubeconfigCredentials } = await import("./kubeconfig-credentials.ts");
  try {
    const choice = chooseKubeconfig(readKubeconfigFiles(path, env), {});
    if (typeof choice === "string") throw new CredentialsError(choice);
    if (of === "another" && namesFiles(choice))
      throw new CredentialsError(
        "the kubeconfig names a program or a file instead of having the credential in it",
      );
    if (choice.server.startsWith("http:") && !choice.insecureSkipTlsVerify)
      throw new CredentialsError(
        `the kubeconfig has the server "${choice.server}" without TLS, ` +
          "and not insecure-skip-tls-verify",
      );
    return await kubeconfigCredentials(choice, { env, clock, isInteractive: false });
  } catch (error) {
    if (!(error instanceof CredentialsError)) throw error;
    throw new CredentialsError(
      error.problem.replace("the kubeconfig", () => `kubeconfig "${path}"`),
      of === "another" ? foreignFix : undefined,
    );
  }
}

function namesFiles(choice: KubeconfigChoice): boolean {
  const { credential, certificateAuthority, clientCertificate, clientKey } = choice;
  return (
    credential.kind === "exec" ||
    credential.kind === "token-file" ||
    [certificateAuthority, clientCertificate, clientKey].some((pem) => pem?.kind === "file")
  );
}

const serviceAccountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Reads the credentials of the pod's ServiceAccount: `token` and `ca.crt` in its directory, like
 * client-go's InClusterConfig. Throws a CredentialsError if one cannot be read.
 */
export function podCredentials(
  { host, port }: { readonly host: string; readonly port: string },
  clock: Clock,
  directory = serviceAccountDirectory,
): Credentials {
  const token = join(directory, "token");
  readAtStart(token);
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    tls: { ca: readAtStart(join(directory, "ca.crt")), rejectUnauthorized: true },
    // The kubelet replaces the file before the token in it expires.
    ...cachedAuthorization(async () => ({ header: bearerFrom(token) }), clock),
  };
}

function readAtStart(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new CredentialsError(
      `ServiceAccount file "${file}" cannot be read: ${errorCode(error) ?? String(error)}`,
    );
  }
}
