import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ControlPlane } from "../support/control-plane-handle.ts";
import { managementPath } from "../support/gateway-address.ts";
import { repository } from "../support/install.ts";
import { addContext, writeKubeconfig } from "../support/kubeconfig.ts";
import { takeLock, type HeldLock } from "../support/lock-file.ts";

/** The directory that `make dev` writes into the checkout, ignored by git. */
export const devDirectory = join(repository, ".dev");

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
} as const;

const lockName = "lock";

/** Locks the directory and empties it; throws while another run holds the lock. */
export function claimDevDirectory(): HeldLock {
  mkdirSync(devDirectory, { recursive: true });
  const lock = takeLock(join(devDirectory, lockName));
  if ("heldBy" in lock)
    throw new Error(`make dev runs already, as process ${lock.heldBy.pid}: stop it first`);
  for (const entry of readdirSync(devDirectory).filter((name) => name !== lockName)) {
    rmSync(join(devDirectory, entry), { recursive: true, force: true, maxRetries: 5 });
  }
  mkdirSync(devPaths.logs, { recursive: true });
  return lock;
}

/** Where the processes of Latchkey answer. */
export interface DevAddresses {
  readonly controllerUrl: string;
  readonly gatewayUrl: string;
  /** PEM text. */
  readonly gatewayCa: string;
}

/**
 * Writes the kubeconfig with the contexts admin, alice, bob and gateway, the CA of the gateway, and
 * the file to source.
 */
export function writeDevFiles(controlPlane: ControlPlane, addresses: DevAddresses): void {
  const { controllerUrl, gatewayUrl, gatewayCa } = addresses;
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
  const bin = join(devDirectory, "bin");
  mkdirSync(bin);
  symlinkSync(controlPlane.kubectl, join(bin, "kubectl"));
  const lines = [
    `export KUBECONFIG=${quoted([...others, devPaths.kubeconfig].join(":"))}`,
    `export KUBECACHEDIR=${quoted(join(devDirectory, "kubectl-cache"))}`,
    `export PATH=${quoted(bin)}:"$PATH"`,
    `export LATCHKEY_CONTROLLER_URL=${quoted(controllerUrl)}`,
    `export LATCHKEY_GATEWAY_URL=${quoted(gatewayUrl)}`,
    `export LATCHKEY_GATEWAY_CA=${quoted(devPaths.gatewayCa)}`,
  ];
  writeFileSync(devPaths.env, `${lines.join("\n")}\n`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
