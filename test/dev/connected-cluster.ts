import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { ControlPlaneSource } from "../support/binaries.ts";
import { connectAgent } from "./connect-agent.ts";
import { connectCluster, prepareConnectedCluster } from "../support/connected-cluster.ts";
import { startControlPlane, type StartedControlPlane } from "../support/control-plane.ts";
import { issuerCa } from "../support/gateway-address.ts";
import { applyDirectAuthorizerRbac, applyDirectEndpointRbac } from "../support/install.ts";
import { writePrivately } from "../support/kubeconfig.ts";
import { kubectl, type KubectlAccess } from "../support/kubectl.ts";
import {
  type DirectEndpointProcess,
  type LatchkeyOptions,
  type LatchkeyProcess,
  startClusterAgent,
  startDirectAuthorizer,
  startDirectEndpoint,
  type WebhookProcess,
} from "../support/latchkey-process.ts";
import type { Exit } from "../support/tied-child.ts";
import { trustTokens } from "../support/trust.ts";
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

/** Starts the control plane of the connected cluster, beside that of the central cluster. */
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

/** What starts the direct endpoint: the issuer of the central cluster, and the bundle. */
export interface DirectSource {
  readonly issuer: string;
  /** How the processes run, as in the image. */
  readonly settings: Partial<LatchkeyOptions>;
  /** Called with the name and the log of a process that exits unexpectedly. */
  readonly onDeath: (name: string, log: string, exit: Exit) => void;
}

/** The processes beside the kube-apiserver of the connected cluster. */
export interface DirectAccess {
  readonly authorizer: WebhookProcess;
  readonly endpoint: DirectEndpointProcess;
}

/**
 * Starts the authorizer and the direct endpoint of the connected cluster, and makes its
 * kube-apiserver trust direct tokens, with what `kubectl latchkey trust-config` prints.
 */
export async function startDirectAccess(
  management: StartedControlPlane,
  connected: StartedControlPlane,
  { issuer, settings, onDeath }: DirectSource,
): Promise<DirectAccess> {
  await applyDirectEndpointRbac(connected);
  await applyDirectAuthorizerRbac(connected);
  const authority = join(devPaths.connected, "issuer-ca.crt");
  writePrivately(authority, await issuerCa(management));
  const shared = {
    ...settings,
    controlPlane: connected,
    directory: devPaths.connected,
    args: [
      `--cluster-name=${connectedCluster}`,
      `--issuer=${issuer}`,
      `--certificate-authority=${authority}`,
    ],
  };
  const authorizer = await startDirectAuthorizer({
    ...shared,
    log: devPaths.authorizerLog,
    pidFile: devPaths.authorizerPid,
    onDeath: (exit) => onDeath("authorizer of the connected cluster", devPaths.authorizerLog, exit),
  });
  await authorizer.waitReady();
  const { webhookUrl } = authorizer;
  await trustTokens(connected, {
    management,
    issuer,
    name: connectedCluster,
    authorizer: { webhookUrl, issuerAuthority: authority },
  });
  const endpoint = await startDirectEndpoint({
    ...shared,
    log: devPaths.directLog,
    pidFile: devPaths.directPid,
    onDeath: (exit) => onDeath("direct endpoint", devPaths.directLog, exit),
  });
  await endpoint.waitReady();
  return { authorizer, endpoint };
}

/** What starts the agent: the client that connects the cluster, and the bundle. */
export interface AgentSource extends Pick<DirectSource, "settings" | "onDeath"> {
  /** The words that start `kubectl latchkey`. */
  readonly client: readonly string[];
}

/** Connects the cluster as a user does, and starts its agent. */
export async function startAgent(
  management: StartedControlPlane,
  connected: StartedControlPlane,
  { client, settings, onDeath }: AgentSource,
): Promise<LatchkeyProcess> {
  const directory = devPaths.connected;
  const connection = { name: connectedCluster, projects: "web", client, directory };
  const agent = await startClusterAgent({
    ...settings,
    controlPlane: connected,
    directory,
    args: await connectAgent(management, connected, connection),
    log: devPaths.agentLog,
    pidFile: devPaths.agentPid,
    onDeath: (exit) => onDeath("agent of the connected cluster", devPaths.agentLog, exit),
  });
  await agent.waitReady();
  return agent;
}

/** Connects the cluster to the gateway of the central cluster. */
export async function joinConnectedCluster(
  management: KubectlAccess,
  connected: StartedControlPlane,
): Promise<void> {
  const access = await prepareConnectedCluster(connected, tokenHours);
  await kubectl(connected, ["apply", "--server-side", "--filename=-"], { input: readers });
  await connectCluster(management, connectedCluster, access);
}
