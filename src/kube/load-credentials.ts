import type { Clock } from "../runtime/clock.ts";
import { type Credentials, CredentialsError } from "./credentials.ts";
import { podCredentials, type PodApiServer } from "./pod-credentials.ts";

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
