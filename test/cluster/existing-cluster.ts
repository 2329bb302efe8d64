import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { ControlPlane, User } from "./control-plane-handle.ts";
import { writePrivately } from "./kubeconfig.ts";

/** Where the kubeconfigs of an existing cluster's users are written, and who they are; the first is the administrator. */
export interface ExistingClusterOptions {
  directory: string;
  logs: string;
  users: readonly User[];
}

/** The parts of `kubectl config view --output=json` that change from user to user. */
interface Kubeconfig {
  clusters: { cluster: { server: string; "certificate-authority-data"?: string } }[];
  users: { name: string; user: Record<string, unknown> }[];
}

/** Makes kubeconfigs from the current context: its own user is the administrator, the others are impersonated. */
export async function useExistingCluster(
  kubectl: string,
  { directory, logs, users }: ExistingClusterOptions,
): Promise<ControlPlane> {
  const view = ["config", "view", "--minify", "--flatten", "--raw", "--output=json"];
  const current: Kubeconfig = JSON.parse(execFileSync(kubectl, view, { encoding: "utf8" }));
  const cluster = current.clusters[0]?.cluster;
  if (cluster === undefined) throw new Error("USE_EXISTING_CLUSTER is true, but the kubeconfig has no current context");
  const kubeconfigs = Object.fromEntries(
    users.map((user, position) => {
      const path = join(directory, `${user.name}.kubeconfig`);
      writePrivately(path, JSON.stringify(position === 0 ? current : impersonating(current, user)));
      return [user.name, path];
    }),
  );
  return {
    kind: "existing",
    url: cluster.server,
    certificateAuthority: Buffer.from(cluster["certificate-authority-data"] ?? "", "base64").toString(),
    kubectl,
    adminKubeconfig: Object.values(kubeconfigs)[0] ?? "",
    kubeconfigs,
    tokens: {},
    hasControllerManager: true,
    directory,
    logs,
  };
}

/** The API server adds system:authenticated to an impersonated user's groups by itself. */
function impersonating(current: Kubeconfig, { name, groups }: User): Kubeconfig {
  const users = current.users.map((entry) => ({ ...entry, user: { ...entry.user, as: name, "as-groups": groups } }));
  return { ...current, users };
}
