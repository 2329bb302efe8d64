import type { Step } from "../support/actions.ts";
import { get } from "../support/cluster-connection.ts";
import { snapshotOf, type Snapshot } from "../support/snapshot.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import type { View } from "../support/visible-objects.ts";
import type { Backend } from "./backend.ts";
import { FaultInjector, type Injection } from "./fault-injector.ts";
import type { Counts } from "./ledger.ts";
import type { Run } from "./run.ts";
import { isStep, type Scenario, type WithObject } from "./scenario.ts";
import { reportStateOf } from "./report-state.ts";
import { revokedStateOf } from "./revoked-state.ts";
import { webhookStateOf } from "./webhook-state.ts";
import type { Worker } from "./worker.ts";

/** The options of a run of a scenario. */
export interface PlayOptions<B extends Backend> {
  readonly worker: Worker;
  readonly scenario: Scenario;
  readonly injection?: Injection<B> | undefined;
  /** Sets up the run with its own names. */
  readonly runIn: (view: View) => Run<B>;
}

/** The result of a run. */
export interface Outcome {
  readonly endState: Snapshot;
  readonly counts: Counts;
  /** Every write that was requested before the quiet time. */
  readonly calls: readonly string[];
  /** How often a Secret was read with its data before the quiet time. */
  readonly reads: number;
  /** The number of changes of the scenario. */
  readonly changes: number;
  /** Writes that were requested in the quiet time. */
  readonly late: readonly string[];
  /** Unexpected errors in Latchkey's log, and runs that do not become idle. */
  readonly mistakes: readonly string[];
  /**
   * The write or change at which the fault was injected; undefined if its moment was not reached.
   */
  readonly injectedAt: string | undefined;
  /** The log of the run, one line for each write, response and jump of the clock. */
  readonly trace: readonly string[];
}

/** Plays a scenario with its own names and deletes its objects. */
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
  let reads = 0;
  let endState: Snapshot = [];
  const perform = async (change: Step | WithObject) =>
    run.perform(
      isStep(change)
        ? change
        : change.step((await worker.cluster.arrange(get(change.withObject))).metadata),
    );
  const play = async () => {
    for (const ground of scenario.grounds(view))
      await perform("withObject" in ground ? ground : [ground]);
    await backend.startMissing();
    await run.settle();
    const made = logbook.ledger.asked.length;
    const before = logbook.ledger.reads.length;
    injector.arm();
    for (const [index, change] of changes.entries()) {
      await injector.beforeChange(index + 1);
      if (isStep(change) || "withObject" in change) await perform(change);
      else await backend.change(change);
      await backend.startMissing();
      await run.settle();
    }
    calls = logbook.ledger.asked.slice(made);
    reads = logbook.ledger.reads.length - before;
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
    reads,
    changes: changes.length,
    late,
    mistakes: run.mistakes,
    injectedAt: injector.injectedAt,
    trace: logbook.ledger.trace,
  };
}

/** The actions of a run, and its environment. */
export interface Scene {
  readonly worker: Worker;
  readonly view: View;
  readonly play: () => Promise<void>;
  /** Reads the result while the instances still run, even if the play failed. */
  readonly after?: () => Promise<void>;
}

/**
 * Plays a scene, ends the run and deletes its objects; a failure is added to the run's `mistakes`.
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

/**
 * All objects that Latchkey has created or whose status it has written in a run, without the
 * differences between runs.
 */
export async function endStateOf(cluster: ProxiedCluster, view: View): Promise<Snapshot> {
  const snapshot = await snapshotOf(cluster, view.prefix.slice(0, -1));
  const texts = [
    ...snapshot,
    ...(await webhookStateOf(cluster, view)),
    await revokedStateOf(cluster, view),
    await reportStateOf(cluster, view),
  ];
  return texts.map((text) =>
    text
      .replaceAll(/"keyID": "[\w-]{43}"/g, '"keyID": "kid"')
      .replaceAll(/(\/requester-key-id": )"[0-9a-f-]{36}"/g, '$1"a key that is gone"')
      .replaceAll(/latchkey-connector-[0-9a-f]{32}\/[0-9a-f]{64}/g, "a claim"),
  );
}
