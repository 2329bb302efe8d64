/** A user who can log in; `admin` (in system:masters) is always there. */
export interface User {
  name: string;
  groups: readonly string[];
}

/**
 * Everything a test needs to reach a control plane: plain data, so that it can be handed to test
 * workers.
 */
export interface ControlPlane {
  kind: "own" | "existing";
  url: string;
  /** PEM text. */
  certificateAuthority: string;
  /** Path of the kubectl to use. */
  kubectl: string;
  /** Path of the kubeconfig whose user is an administrator. */
  adminKubeconfig: string;
  /** Paths by user name, `admin` included. */
  kubeconfigs: Readonly<Record<string, string>>;
  /** Bearer tokens by user name; empty on an existing cluster, where users are impersonated. */
  tokens: Readonly<Record<string, string>>;
  /** JSON lines at level Metadata; absent on an existing cluster. */
  auditLogPath?: string;
  /** False where garbage collection, namespace deletion and service account tokens do not work. */
  hasControllerManager: boolean;
  /** Kubeconfigs, certificates, keys and data are in here. */
  directory: string;
  /** One log file per program is in here. */
  logs: string;
}

/** The path of a user's kubeconfig; throws for a user the control plane does not have. */
export function kubeconfigFor(
  controlPlane: Pick<ControlPlane, "kubeconfigs">,
  user: string,
): string {
  const path = controlPlane.kubeconfigs[user];
  if (path === undefined) throw new Error(`the control plane has no user "${user}"`);
  return path;
}
