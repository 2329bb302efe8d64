/** A user who can authenticate; `admin` (in system:masters) always exists. */
export interface User {
  name: string;
  groups: readonly string[];
}

/**
 * The data that a test needs to connect to a control plane; it can be serialized for test workers.
 */
export interface ControlPlane {
  kind: "own" | "existing";
  url: string;
  /** PEM text. */
  certificateAuthority: string;
  /** Path of kubectl. */
  kubectl: string;
  /** Path of the kubeconfig whose user is an administrator. */
  adminKubeconfig: string;
  /** Paths by user name, including `admin`. */
  kubeconfigs: Readonly<Record<string, string>>;
  /** Bearer tokens by user name; empty on an existing cluster, where users are impersonated. */
  tokens: Readonly<Record<string, string>>;
  /** JSON lines at level Metadata; undefined on an existing cluster. */
  auditLogPath?: string;
  /** False if garbage collection, namespace deletion and service account tokens do not work. */
  hasControllerManager: boolean;
  /** The directory of kubeconfigs, certificates, keys and data. */
  directory: string;
  /** The directory of the logs, with one file per program. */
  logs: string;
}

/** The path of a user's kubeconfig; throws for an unknown user. */
export function kubeconfigFor(
  controlPlane: Pick<ControlPlane, "kubeconfigs">,
  user: string,
): string {
  const path = controlPlane.kubeconfigs[user];
  if (path === undefined) throw new Error(`the control plane has no user "${user}"`);
  return path;
}
