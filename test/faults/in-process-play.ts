import type { Injection } from "./fault-injector.ts";
import {
  type InProcessBackend,
  type InProcessOptions,
  inProcessRun,
} from "./in-process-backend.ts";
import { type Outcome, playScenario } from "./play.ts";
import type { Scenario } from "./scenario.ts";
import { signingKeys } from "./scenarios.ts";
import type { Worker } from "./worker.ts";

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

/** Plays an empty scenario, so that the worker has signing keys. */
export async function warmUp(worker: Worker): Promise<void> {
  const nothing: Scenario = { name: "nothing", grounds: () => [], changes: () => [] };
  await play({ worker, scenario: nothing, seed: 0 });
  const { system } = await worker.nextView();
  await worker.cluster.arrange({ method: "GET", path: signingKeys({ prefix: "", system }) });
}
