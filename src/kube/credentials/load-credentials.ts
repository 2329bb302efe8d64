import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../runtime/clock.ts";
import { errorCode } from "../../runtime/read-text-file.ts";
import {
  type Credentials,
  CredentialsError,
  bearerFrom,
  cachedAuthorization,
} from "./credentials.ts";

/** Sources of credentials: a kubeconfig takes precedence over the pod. */
interface CredentialsSource {
  /** Path of a kubeconfig. */
  readonly kubeconfig: string | undefined;
  /** The API server from the environment of the pod; undefined outside of a pod. */
  readonly pod: PodApiServer | undefined;
}

/**
 * Reads the credentials of the current context of a kubeconfig, or of the pod's ServiceAccount if
 * no kubeconfig is set. Rejects with a CredentialsError.
 */
export async function loadCredentials(
  { kubeconfig, pod }: CredentialsSource,
  clock: Clock,
): Promise<Credentials> {
  if (kubeconfig !== undefined) {
    // In a pod, two files are enough: the client library is 1.2 MB of code and loads slowly.
    const { kubeconfigCredentials } = await import("./kubeconfig.ts");
    return kubeconfigCredentials(kubeconfig, clock);
  }
  if (pod !== undefined) return podCredentials(pod, clock);
  throw new CredentialsError(
    "no kubeconfig is set and this is not a pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set)",
  );
}

/** The Service of the API server, from the environment that the kubelet sets in every container. */
interface PodApiServer {
  /** KUBERNETES_SERVICE_HOST. */
  readonly host: string;
  /** KUBERNETES_SERVICE_PORT. */
  readonly port: string;
}

const serviceAccountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Reads the credentials of the pod's ServiceAccount: `token` and `ca.crt` in its directory, like
 * client-go's InClusterConfig. Throws a CredentialsError if one cannot be read.
 */
export function podCredentials(
  { host, port }: PodApiServer,
  clock: Clock,
  directory = serviceAccountDirectory,
): Credentials {
  const token = join(directory, "token");
  readAtStart(token);
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    tls: { ca: readAtStart(join(directory, "ca.crt")), rejectUnauthorized: true },
    // The kubelet replaces the file before the token in it expires.
    ...cachedAuthorization(async () => bearerFrom(token), clock),
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
