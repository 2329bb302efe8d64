import { type ProxiedCluster, startProxiedCluster } from "../support/proxied-cluster.ts";
import { openWorkers } from "./in-process-play.ts";
import type { Worker } from "./worker.ts";

/** The workers of a program, and the time since it began. */
export interface Program {
  readonly workers: readonly Worker[];
  readonly seconds: () => string;
}

/** Prints a line. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Runs a program on a cluster of its own, and exits with the code that the program returns. */
export async function runProgram(
  workers: { readonly name: string; readonly count: number },
  main: (program: Program) => Promise<number>,
): Promise<never> {
  const begun = performance.now();
  const seconds = () => `${Math.round((performance.now() - begun) / 1000)} s`;
  const cluster: ProxiedCluster = await startProxiedCluster(say);
  try {
    const opened = await openWorkers(cluster, workers.name, workers.count);
    process.exitCode = await main({ workers: opened, seconds });
  } finally {
    await cluster.stop();
  }
  process.exit();
}
