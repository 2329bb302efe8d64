import type { ControlPlane } from "./control-plane-handle.ts";
import { applyConnectedCluster } from "./install.ts";
import { kubectl, type KubectlAccess } from "./kubectl.ts";

/** How the gateway reaches a connected cluster: a token of its account there. */
export interface ConnectedAccess extends Pick<ControlPlane, "url" | "certificateAuthority"> {
  readonly token: string;
}

/**
 * Applies what a connected cluster needs to a control plane; returns how the gateway reaches it, with a
 * token for this many hours.
 */
export async function prepareConnectedCluster(
  connected: ControlPlane,
  hours: number,
): Promise<ConnectedAccess> {
  await applyConnectedCluster(connected);
  const { url, certificateAuthority } = connected;
  const token = await kubectl(connected, [
    ...["create", "token", "latchkey-gateway", "--namespace=latchkey-system"],
    `--duration=${hours}h`,
  ]);
  return { url, certificateAuthority, token: token.trim() };
}

/** The kubeconfig of a connected cluster; `change` replaces fields of its cluster and user. */
export function connectedKubeconfig(
  { url, certificateAuthority, token }: ConnectedAccess,
  change: { readonly user?: object; readonly cluster?: object } = {},
): object {
  const cluster = {
    server: url,
    "certificate-authority-data": Buffer.from(certificateAuthority).toString("base64"),
    ...change.cluster,
  };
  return {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "c" } }],
    clusters: [{ name: "c", cluster }],
    users: [{ name: "c", user: { token, ...change.user } }],
  };
}

/**
 * Connects a cluster to the gateway of a central cluster under a name, and states its address as
 * that for direct tokens.
 */
export async function connectCluster(
  management: KubectlAccess,
  name: string,
  access: ConnectedAccess,
): Promise<void> {
  await applySecret(management, {
    metadata: { name, labels: { "management.service/cluster": name } },
    stringData: {
      kubeconfig: JSON.stringify(connectedKubeconfig(access)),
      "direct-server": access.url,
      "direct-ca.crt": access.certificateAuthority,
    },
  });
}

/** Connects a virtual cluster of a project, which runs in the namespace `vc-<name>`. */
export async function connectVirtualCluster(
  management: KubectlAccess,
  name: string,
  { project, ...access }: ConnectedAccess & { readonly project: string },
): Promise<void> {
  const labels = {
    "management.service/project": project,
    "management.service/virtual-cluster": name,
  };
  const annotations = { "management.service/virtual-cluster-namespace": `vc-${name}` };
  await applySecret(management, {
    metadata: { name: `${project}-${name}`, labels, annotations },
    stringData: { kubeconfig: JSON.stringify(connectedKubeconfig(access)) },
  });
}

async function applySecret(
  management: KubectlAccess,
  { metadata, ...rest }: { readonly metadata: object; readonly stringData: object },
): Promise<void> {
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    ...rest,
    metadata: { ...metadata, namespace: "latchkey-clusters" },
  };
  const args = ["apply", "--server-side", "--filename=-"];
  await kubectl(management, args, { input: JSON.stringify(secret) });
}
