import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { type LatchkeyProcess, startController } from "../support/latchkey-process.ts";
import { imageNodeFlags } from "../support/image.ts";
import { repository } from "../support/install.ts";
import { settled } from "../support/dedicated-cluster.ts";
import { describeExit, type Exit, logTail } from "../support/tied-child.ts";
import type { FaultProxy } from "../support/fault-proxy.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import { removedAfter } from "./population.ts";

const programIn = ({ controlPlane }: ProxiedCluster): string =>
  join(controlPlane.directory, "latchkey.mjs");

/** Builds the shipped bundle. */
export function bundleFor(cluster: ProxiedCluster): void {
  execFileSync("npm", ["run", "--silent", "build", "--", `--outfile=${programIn(cluster)}`], {
    cwd: repository,
  });
}

/**
 * Runs the bundle with the flags of the image, with the proxy as its API server, and waits until it
 * is idle. `deaths` receives its exits.
 */
export async function startBehind(
  proxy: FaultProxy,
  cluster: ProxiedCluster,
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
    program: programIn(cluster),
    nodeFlags: imageNodeFlags(),
    args,
    env,
    log,
    restart: "never",
    identity: "soak",
    onDeath,
  });
  await controller.waitReady();
  await settled(controller);
  return controller;
}
