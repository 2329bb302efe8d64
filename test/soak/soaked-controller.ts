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

/** Builds the bundle that ships. */
export function bundleFor(cluster: ProxiedCluster): void {
  execFileSync("npm", ["run", "--silent", "build", "--", `--outfile=${programIn(cluster)}`], {
    cwd: repository,
  });
}

/**
 * Runs the bundle as the image does, its way to the API server being the proxy, and waits until it
 * has nothing to do. `deaths` is told how it dies.
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
  // A crowded machine may let nobody have a turn for longer than the usual 10 s, and this is no
  // test of elections. In half an hour, a user deletes more tokens than the quota allows to be
  // valid.
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
