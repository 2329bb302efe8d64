import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ControlPlane } from "../support/control-plane-handle.ts";
import { managementPath } from "../support/gateway-address.ts";
import { repository } from "../support/install.ts";
import { addContext, writeKubeconfig } from "../support/kubeconfig.ts";
import { takeLock, type TakenLock } from "../support/lock-file.ts";

/**
 * The directory that `make dev` writes into the checkout, ignored by git; a test of `make dev` has
 * another one.
 */
export const devDirectory = process.env.LATCHKEY_DEV_DIRECTORY ?? join(repository, ".dev");

/** The name of the connected cluster at the gateway, and of its context. */
export const connectedCluster = "connected";

/** Paths inside the directory. */
export const devPaths = {
  env: join(devDirectory, "env"),
  kubeconfig: join(devDirectory, "kubeconfig"),
  logs: join(devDirectory, "logs"),
  controllerLog: join(devDirectory, "logs", "controller.log"),
  controllerPid: join(devDirectory, "controller.pid"),
  webhookLog: join(devDirectory, "logs", "webhook.log"),
  webhookPid: join(devDirectory, "webhook.pid"),
  gatewayLog: join(devDirectory, "logs", "gateway.log"),
  gatewayPid: join(devDirectory, "gateway.pid"),
  gatewayCa: join(devDirectory, "gateway-ca.crt"),
  connected: join(devDirectory, "connected"),
  connectedLogs: join(devDirectory, "logs", "connected"),
  connectedCa: join(devDirectory, "connected-ca.crt"),
  directLog: join(devDirectory, "logs", "direct-endpoint.log"),
  directPid: join(devDirectory, "direct-endpoint.pid"),
  authorizerLog: join(devDirectory, "logs", "direct-authorizer.log"),
  authorizerPid: join(devDirectory, "direct-authorizer.pid"),
  agentLog: join(devDirectory, "logs", "cluster-agent.log"),
  agentPid: join(devDirectory, "cluster-agent.pid"),
  directCa: join(devDirectory, "direct-ca.crt"),
} as const;

/** Where processes write which files they pass, if LATCHKEY_FLOWS is set. */
export const flowsDirectory = join(devDirectory, "flows");

/** What a process imports to write them. */
export const flowRecorder = join(import.meta.dirname, "flow-recorder.ts");

const lockName = "lock";

/** Locks the directory and empties it; throws while another run holds the lock. */
export function claimDevDirectory(): TakenLock {
  mkdirSync(devDirectory, { recursive: true });
  const lock = takeLock(join(devDirectory, lockName));
  if ("owner" in lock)
    throw new Error(`make dev runs already, as process ${lock.owner.pid}: stop it first`);
  for (const entry of readdirSync(devDirectory).filter((name) => name !== lockName)) {
    rmSync(join(devDirectory, entry), { recursive: true, force: true, maxRetries: 5 });
  }
  mkdirSync(devPaths.logs, { recursive: true });
  mkdirSync(flowsDirectory);
  return lock;
}

/** Where the processes of Latchkey answer. */
export interface DevAddresses {
  readonly controllerUrl: string;
  readonly gatewayUrl: string;
  /** PEM text. */
  readonly gatewayCa: string;
  /** The connected cluster, if there is one. */
  readonly connected: ConnectedAddresses | undefined;
  /** Path of the bundle. */
  readonly program: string;
}

/** The control plane of the connected cluster, and its direct endpoint. */
export interface ConnectedAddresses {
  readonly controlPlane: ControlPlane;
  readonly directUrl: string;
  /** PEM text. */
  readonly directCa: string;
}

/**
 * Writes the kubeconfig with the contexts admin, alice, bob and gateway, and connected, direct and
 * gateway-connected if there is a connected cluster; the CAs; and the file to source.
 */
export function writeDevFiles(controlPlane: ControlPlane, addresses: DevAddresses): void {
  const { controllerUrl, gatewayUrl, gatewayCa, connected, program } = addresses;
  const others = controlPlane.kind === "own" ? [] : Object.values(controlPlane.kubeconfigs);
  if (controlPlane.kind === "own") {
    const users = Object.entries(controlPlane.tokens).map(
      ([name, token]) => [name, { token }] as const,
    );
    writeKubeconfig(devPaths.kubeconfig, controlPlane, Object.fromEntries(users));
  }
  writeFileSync(devPaths.gatewayCa, gatewayCa);
  addContext(devPaths.kubeconfig, "gateway", {
    url: `${gatewayUrl}${managementPath}`,
    certificateAuthority: gatewayCa,
  });
  if (connected !== undefined) addConnectedContexts(connected, addresses);
  const bin = join(devDirectory, "bin");
  mkdirSync(bin, { recursive: true });
  symlinkSync(controlPlane.kubectl, join(bin, "kubectl"));
  const script = `#!/bin/sh\nexec ${quoted(process.execPath)} ${quoted(program)} "$@"\n`;
  writeFileSync(join(bin, "latchkey"), script, { mode: 0o755 });
  const lines = [
    `export KUBECONFIG=${quoted([...others, devPaths.kubeconfig].join(":"))}`,
    `export KUBECACHEDIR=${quoted(join(devDirectory, "kubectl-cache"))}`,
    `export PATH=${quoted(bin)}:"$PATH"`,
    `export LATCHKEY_CONTROLLER_URL=${quoted(controllerUrl)}`,
    `export LATCHKEY_GATEWAY_URL=${quoted(gatewayUrl)}`,
    `export LATCHKEY_GATEWAY_CA=${quoted(devPaths.gatewayCa)}`,
    ...(connected === undefined
      ? []
      : [
          `export LATCHKEY_CONNECTED_URL=${quoted(connected.controlPlane.url)}`,
          `export LATCHKEY_CONNECTED_CA=${quoted(devPaths.connectedCa)}`,
          `export LATCHKEY_DIRECT_URL=${quoted(connected.directUrl)}`,
          `export LATCHKEY_DIRECT_CA=${quoted(devPaths.directCa)}`,
        ]),
  ];
  writeFileSync(devPaths.env, `${lines.join("\n")}\n`);
}

/** The connected cluster as its administrator, with a token, and through the gateway with a key. */
function addConnectedContexts(
  { controlPlane, directCa }: ConnectedAddresses,
  { gatewayUrl, gatewayCa }: DevAddresses,
): void {
  const { url, certificateAuthority, tokens } = controlPlane;
  writeFileSync(devPaths.connectedCa, certificateAuthority);
  writeFileSync(devPaths.directCa, directCa);
  addContext(devPaths.kubeconfig, "direct", { url, certificateAuthority });
  const { admin: token = "" } = tokens;
  addContext(devPaths.kubeconfig, connectedCluster, { url, certificateAuthority, user: { token } });
  addContext(devPaths.kubeconfig, `gateway-${connectedCluster}`, {
    url: `${gatewayUrl}/kubernetes/cluster/${connectedCluster}`,
    certificateAuthority: gatewayCa,
  });
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
