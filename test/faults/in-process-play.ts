import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import type { Injection } from "./fault-injector.ts";
import {
  type InProcessBackend,
  type InProcessOptions,
  inProcessRun,
} from "./in-process-backend.ts";
import { type Outcome, playScenario } from "./play.ts";
import type { Scenario } from "./scenario.ts";
import { signingKeys } from "./scenarios.ts";
import { Worker } from "./worker.ts";

/** Options of a scenario that is played with programs in this process. */
export interface InProcessPlayOptions extends Omit<InProcessOptions, "programs"> {
  readonly worker: Worker;
  readonly scenario: Scenario;
  readonly injection?: Injection<InProcessBackend>;
}

/** Plays a scenario with its programs, in this process. */
export function play({
  worker,
  scenario,
  injection,
  ...options
}: InProcessPlayOptions): Promise<Outcome> {
  const { programs } = scenario;
  return playScenario({
    worker,
    scenario,
    injection,
    runIn: (view) =>
      inProcessRun(
        { cluster: worker.cluster, view },
        { ...options, ...(programs === undefined ? {} : { programs }) },
      ),
  });
}

/** Opens workers with numbered names. Each has played an empty scenario, and so has signing keys. */
export function openWorkers(
  cluster: ProxiedCluster,
  name: string,
  count: number,
): Promise<readonly Worker[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) => openWorker(cluster, `${name}${index}`)),
  );
}

/** Opens a worker that has signing keys. */
export async function openWorker(cluster: ProxiedCluster, name: string): Promise<Worker> {
  const worker = await Worker.open(cluster, name);
  const nothing: Scenario = { name: "nothing", grounds: () => [], changes: () => [] };
  await play({ worker, scenario: nothing, seed: 0 });
  const { system } = await worker.nextView();
  await cluster.arrange({ method: "GET", path: signingKeys({ prefix: "", system }) });
  return worker;
}
