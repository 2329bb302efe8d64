import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ControlPlane } from "../support/control-plane-handle.ts";
import { repository } from "../support/install.ts";
import { writeKubeconfig } from "../support/kubeconfig.ts";
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

/** Writes the kubeconfig with the contexts admin, alice and bob, and the file to source. */
export function writeDevFiles(controlPlane: ControlPlane, controllerUrl: string): void {
  const kubeconfig =
    controlPlane.kind === "own"
      ? devPaths.kubeconfig
      : Object.values(controlPlane.kubeconfigs).join(":");
  if (controlPlane.kind === "own") {
    const users = Object.entries(controlPlane.tokens).map(
      ([name, token]) => [name, { token }] as const,
    );
    writeKubeconfig(devPaths.kubeconfig, controlPlane, Object.fromEntries(users));
  }
  const bin = join(devDirectory, "bin");
  mkdirSync(bin);
  symlinkSync(controlPlane.kubectl, join(bin, "kubectl"));
  const lines = [
    `export KUBECONFIG=${quoted(kubeconfig)}`,
    `export KUBECACHEDIR=${quoted(join(devDirectory, "kubectl-cache"))}`,
    `export PATH=${quoted(bin)}:"$PATH"`,
    `export LATCHKEY_CONTROLLER_URL=${quoted(controllerUrl)}`,
  ];
  writeFileSync(devPaths.env, `${lines.join("\n")}\n`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
