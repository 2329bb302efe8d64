import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { type LatchkeyProcess, startController } from "../support/latchkey-process.ts";
import { imageNodeFlags } from "../support/image.ts";
import type { Say } from "../support/measured-run.ts";
import { bundle } from "../support/bundle.ts";
import { settled } from "../support/dedicated-cluster.ts";
import { describeExit, type Exit, logTail } from "../support/tied-child.ts";
import type { FaultProxy } from "../support/fault-proxy.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import { removedAfter } from "./population.ts";

/** Puts the shipped bundle beside the files of the cluster, and returns its path. */
export async function bundleFor({ controlPlane }: ProxiedCluster, say: Say): Promise<string> {
  const program = join(controlPlane.directory, "latchkey.mjs");
  copyFileSync(await bundle(say), program);
  return program;
}

/** What is run: the program, with the proxy in front of the cluster. */
export interface Soakable {
  readonly cluster: ProxiedCluster;
  readonly program: string;
  readonly proxy: FaultProxy;
}

/**
 * Runs the bundle with the flags of the image, with the proxy as its API server, and waits until it
 * is idle. `deaths` receives its exits.
 */
export async function startBehind(
  { cluster, program, proxy }: Soakable,
  deaths: string[],
): Promise<LatchkeyProcess> {
  const ends = [
    `--delete-expired-keys-after=${removedAfter}s`,
    `--delete-expired-tokens-after=${removedAfter}s`,
  ];
  // On a busy machine, a process may not run for longer than the default 10 s, and a soak does not
  // test leader election. In half an hour, a user deletes more tokens than the quota of valid
  // tokens allows.
  const args = [...ends, "--lease-duration=60s", "--renew-deadline=45s", "--quota-tokens=1000000"];
  const env = { NODE_OPTIONS: process.env.SOAK_NODE_OPTIONS ?? "", NODE_ENV: "production" };
  const controlPlane = { ...cluster.controlPlane, url: proxy.url };
  const log = join(cluster.controlPlane.logs, "controller.log");
  const onDeath = (exit: Exit) =>
    void deaths.push(describeExit(exit), ...logTail(log, 5).split("\n"));
  const controller = await startController({
    controlPlane,
    program,
    args,
    env,
    log,
    onDeath,
    nodeFlags: imageNodeFlags("controller"),
    restart: "never",
    identity: "soak",
  });
  await controller.waitReady();
  await settled(controller);
  return controller;
}
