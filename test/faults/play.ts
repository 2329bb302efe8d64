import { snapshotOf, type Snapshot } from "../support/snapshot.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import type { View } from "../support/visible-objects.ts";
import type { Backend } from "./backend.ts";
import { FaultInjector, type Injection } from "./fault-injector.ts";
import type { Counts } from "./ledger.ts";
import type { Run } from "./run.ts";
import { isStep, type Scenario } from "./scenario.ts";
import { webhookStateOf } from "./webhook-state.ts";
import type { Worker } from "./worker.ts";

/** How a scenario is played. */
export interface PlayOptions<B extends Backend> {
  readonly worker: Worker;
  readonly scenario: Scenario;
  readonly injection?: Injection<B> | undefined;
  /** Sets up the run in names of its own. */
  readonly runIn: (view: View) => Run<B>;
}

/** What came of a run. */
export interface Outcome {
  readonly endState: Snapshot;
  readonly counts: Counts;
  /** Every write that was asked for before the quiet time. */
  readonly calls: readonly string[];
  /** How many changes the scenario has. */
  readonly changes: number;
  /** Writes that were asked for in the quiet time. */
  readonly late: readonly string[];
  /** What Latchkey's log calls a mistake of its own, and runs that never come to rest. */
  readonly mistakes: readonly string[];
  /**
   * The write at which the fault was injected, or the change before which it was; undefined when
   * its moment never came.
   */
  readonly injectedAt: string | undefined;
  /** The run's story, one line for each write, answer and jump of the clock. */
  readonly trace: readonly string[];
}

/** Plays a scenario in names of its own and takes everything away again. */
export async function playScenario<B extends Backend>({
  worker,
  scenario,
  injection,
  runIn,
}: PlayOptions<B>): Promise<Outcome> {
  const view = await worker.nextView();
  const run = runIn(view);
  const { logbook, backend } = run;
  const injector = new FaultInjector(run, injection);
  const changes = scenario.changes(view);
  let late: readonly string[] = [];
  let calls: readonly string[] = [];
  let endState: Snapshot = [];
  const play = async () => {
    for (const action of scenario.grounds(view)) await run.perform([action]);
    await backend.startMissing();
    await run.settle();
    const made = logbook.ledger.asked.length;
    injector.arm();
    for (const [index, change] of changes.entries()) {
      await injector.beforeChange(index + 1);
      await (isStep(change) ? run.perform(change) : backend.change(change));
      await backend.startMissing();
      await run.settle();
    }
    calls = logbook.ledger.asked.slice(made);
    late = await run.quiet();
  };
  await during(run, {
    worker,
    view,
    play,
    after: async () => {
      endState = await endStateOf(worker.cluster, view);
    },
  });
  return {
    endState,
    counts: logbook.ledger.counts,
    calls,
    changes: changes.length,
    late,
    mistakes: run.mistakes,
    injectedAt: injector.injectedAt,
    trace: logbook.ledger.trace,
  };
}

/** What happens in a run, and where. */
export interface Scene {
  readonly worker: Worker;
  readonly view: View;
  readonly play: () => Promise<void>;
  /** Looks at what there is while the instances still run, whatever came of the play. */
  readonly after?: () => Promise<void>;
}

/**
 * Plays a scene in a run, ends the run and takes everything away again; what fails is a mistake of
 * the run.
 */
export async function during<B extends Backend>(
  run: Run<B>,
  { worker, view, play, after }: Scene,
): Promise<void> {
  try {
    await play();
  } catch (error) {
    run.mistakes.push(error instanceof Error ? error.message : String(error));
  }
  await after?.();
  await run.end();
  await worker.tidy(view);
}

/** All that Latchkey has made or judged in a run, without what differs between runs. */
export async function endStateOf(cluster: ProxiedCluster, view: View): Promise<Snapshot> {
  const snapshot = await snapshotOf(cluster, view.prefix.slice(0, -1));
  const texts = [...snapshot, ...(await webhookStateOf(cluster, view))];
  return texts.map((text) =>
    text
      .replaceAll(/"keyID": "[\w-]{43}"/g, '"keyID": "kid"')
      .replaceAll(/latchkey-connector-[0-9a-f]{32}\/[0-9a-f]{64}/g, "a claim"),
  );
}
