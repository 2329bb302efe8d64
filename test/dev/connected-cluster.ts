import { mkdirSync } from "node:fs";
import type { ControlPlaneSource } from "../support/binaries.ts";
import { connectCluster, prepareConnectedCluster } from "../support/connected-cluster.ts";
import { startControlPlane, type StartedControlPlane } from "../support/control-plane.ts";
import { kubectl, type KubectlAccess } from "../support/kubectl.ts";
import { connectedCluster, devPaths } from "./dev-directory.ts";

/** The gateway's token there ends after the longest run that is likely. */
const tokenHours = 24 * 365;

/** Users who may read the objects of the connected cluster, and no Secrets. */
const readers = JSON.stringify({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: "dev-readers" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
  subjects: [
    { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "alice" },
    { apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "devs" },
  ],
});

/** Whether `make dev` has a connected cluster (CONNECTED=1); throws where it cannot start one. */
export function wantsConnectedCluster(
  { CONNECTED: wanted = "" }: NodeJS.ProcessEnv,
  { kind }: Pick<ControlPlaneSource, "kind">,
): boolean {
  if (wanted === "") return false;
  if (wanted !== "1") throw new Error(`CONNECTED=${wanted} is not supported; must be 1`);
  if (kind === "existing")
    throw new Error("CONNECTED=1 starts a second API server, so it needs Go or KUBEBUILDER_ASSETS");
  return true;
}

/** Starts the control plane of the connected cluster, beside that of the management cluster. */
export function startConnectedCluster(
  source: ControlPlaneSource,
  onDeath: (what: string) => void,
): Promise<StartedControlPlane> {
  mkdirSync(devPaths.connected, { recursive: true });
  return startControlPlane(source, {
    directory: devPaths.connected,
    logs: devPaths.connectedLogs,
    onDeath: (what) => onDeath(`the connected cluster: ${what}`),
  });
}

/** Connects the cluster to the gateway of the management cluster. */
export async function joinConnectedCluster(
  management: KubectlAccess,
  connected: StartedControlPlane,
): Promise<void> {
  const access = await prepareConnectedCluster(connected, tokenHours);
  await kubectl(connected, ["apply", "--server-side", "--filename=-"], { input: readers });
  await connectCluster(management, connectedCluster, access);
}
