import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { ControlPlane, User } from "./control-plane-handle.ts";
import { writePrivately } from "./kubeconfig.ts";

/**
 * The directory of the kubeconfigs for an existing cluster, and their users; the first is the
 * administrator.
 */
export interface ExistingClusterOptions {
  directory: string;
  logs: string;
  users: readonly User[];
}

/** The parts of `kubectl config view --output=json` that differ between users. */
interface Kubeconfig {
  "current-context": string;
  contexts: { name: string; context: Record<string, unknown> }[];
  clusters: { cluster: { server: string; "certificate-authority-data"?: string } }[];
  users: { name: string; user: Record<string, unknown> }[];
}

/**
 * Creates kubeconfigs from the current context: its user is the administrator, the others are
 * impersonated.
 */
export async function useExistingCluster(
  kubectl: string,
  { directory, logs, users }: ExistingClusterOptions,
): Promise<ControlPlane> {
  const view = ["config", "view", "--minify", "--flatten", "--raw", "--output=json"];
  const current: Kubeconfig = JSON.parse(execFileSync(kubectl, view, { encoding: "utf8" }));
  const cluster = current.clusters[0]?.cluster;
  if (cluster === undefined)
    throw new Error("USE_EXISTING_CLUSTER is true, but the kubeconfig has no current context");
  const kubeconfigs = Object.fromEntries(
    users.map((user, position) => {
      const path = join(directory, `${user.name}.kubeconfig`);
      writePrivately(
        path,
        JSON.stringify(
          loggedIn(
            current,
            user.name,
            position === 0 ? {} : { as: user.name, "as-groups": user.groups },
          ),
        ),
      );
      return [user.name, path];
    }),
  );
  return {
    kind: "existing",
    url: cluster.server,
    certificateAuthority: Buffer.from(
      cluster["certificate-authority-data"] ?? "",
      "base64",
    ).toString(),
    kubectl,
    adminKubeconfig: Object.values(kubeconfigs)[0] ?? "",
    kubeconfigs,
    tokens: {},
    hasControllerManager: true,
    directory,
    logs,
  };
}

/**
 * Context and user have the same name, so that the files of several users can be merged
 * (KUBECONFIG=a:b).
 */
function loggedIn(
  current: Kubeconfig,
  name: string,
  impersonation: Record<string, unknown>,
): Kubeconfig {
  return {
    ...current,
    "current-context": name,
    contexts: current.contexts.map(({ context }) => ({
      name,
      context: { ...context, user: name },
    })),
    users: current.users.map(({ user }) => ({ name, user: { ...user, ...impersonation } })),
  };
}
