import { setTimeout as pause } from "node:timers/promises";
import type { assembleController } from "../../src/controllers/assemble.ts";
import { snapshotOf, type Snapshot } from "../support/snapshot.ts";
import type { Fault, Moment } from "./faults.ts";
import type { Worker } from "./worker.ts";
import type { Counts } from "./ledger.ts";
import { type Call, Run } from "./run.ts";
import { type Change, isStep, type Scenario, signingKeys } from "./scenarios.ts";
import type { View } from "../support/visible-objects.ts";
import { performWithWebhook } from "./webhook-actions.ts";
import { webhookStateOf } from "./webhook-state.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";

/** What a fault does to a scenario, and when. */
export interface Injection {
  readonly fault: Fault;
  readonly moment: Moment;
}

/** How a scenario is played; `assemble` replaces Latchkey's own controller. */
export interface PlayOptions {
  readonly worker: Worker;
  readonly scenario: Scenario;
  readonly seed: number;
  readonly injection?: Injection;
  readonly assemble?: typeof assembleController;
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
   * The write at which the fault was injected, or the change before which it did; undefined when its moment
   * never came.
   */
  readonly injectedAt: string | undefined;
  /** The run's story, one line for each write, answer and jump of the clock. */
  readonly trace: readonly string[];
}

/** Plays a scenario in names of its own and takes everything away again. */
export async function play({
  worker,
  scenario,
  seed,
  injection,
  assemble,
}: PlayOptions): Promise<Outcome> {
  const { cluster } = worker;
  const view = await worker.nextView();
  const run = new Run({
    cluster,
    view,
    seed,
    ...(scenario.programs === undefined ? {} : { programs: scenario.programs }),
    ...(assemble === undefined ? {} : { assemble }),
  });
  const changes = scenario.changes(view);
  let late: readonly string[] = [];
  let calls: readonly string[] = [];
  const injector = new FaultInjector(run, injection);
  try {
    for (const { by = {}, until, ...request } of scenario.grounds(view))
      await run.perform(by, request, until);
    await run.startMissing();
    await run.settle();
    const made = run.ledger.asked.length;
    injector.arm();
    for (const [index, change] of changes.entries()) {
      await injector.beforeChange(index + 1);
      await perform(run, cluster, change);
      await run.startMissing();
      await run.settle();
    }
    calls = run.ledger.asked.slice(made);
    late = await run.quiet();
  } catch (error) {
    run.mistakes.push(error instanceof Error ? error.message : String(error));
  }
  const endState = await endStateOf(cluster, view);
  run.end();
  await worker.tidy(view);
  return {
    endState,
    counts: run.ledger.counts,
    calls,
    changes: changes.length,
    late,
    mistakes: run.mistakes,
    injectedAt: injector.injectedAt,
    trace: run.ledger.trace,
  };
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

/** Plays nothing, so that the worker has signing keys. */
export async function warmUp(worker: Worker): Promise<void> {
  const nothing: Scenario = { name: "nothing", grounds: () => [], changes: () => [] };
  await play({ worker, scenario: nothing, seed: 0 });
  const { system } = await worker.nextView();
  await worker.cluster.arrange({ method: "GET", path: signingKeys({ prefix: "", system }) });
}

async function perform(run: Run, cluster: ProxiedCluster, change: Change): Promise<void> {
  if ("use" in change || "admit" in change) await performWithWebhook(run, cluster, change);
  else if ("passMs" in change) await run.pass(change.passMs);
  else if ("leapMs" in change) await run.jump(change.leapMs);
  else if ("outageMs" in change) {
    for (const instance of run.instances) run.kill(instance);
    await run.jump(change.outageMs);
    await run.startMissing();
  } else if ("nextSecond" in change) await pause(1_000);
  else if (isStep(change))
    await Promise.all(
      change.map(({ by = {}, until, ...request }) => run.perform(by, request, until)),
    );
}

/** Lets a fault loose at its moment. */
class FaultInjector {
  readonly #run: Run;
  readonly #injection: Injection | undefined;
  #calls = 0;
  injectedAt: string | undefined;

  constructor(run: Run, injection: Injection | undefined) {
    this.#run = run;
    this.#injection = injection;
  }

  arm(): void {
    if (this.#injection?.moment.at === "call")
      this.#run.activate({ onCall: (call) => this.#onCall(call) });
  }

  async beforeChange(number: number): Promise<void> {
    if (this.#injection?.fault.needsLists === true && this.injectedAt === undefined)
      await this.#run.recordLists();
    const instance = [...this.#run.instances].find(({ name }) => name === this.#run.names.at(-1));
    if (
      this.#injection?.moment.at !== "change" ||
      this.#injection.moment.number !== number ||
      instance === undefined
    )
      return;
    this.injectedAt = `change ${number}`;
    this.#run.activate((await this.#injection.fault.begin?.(instance, this.#run)) ?? {});
  }

  #onCall(call: Call) {
    if (this.#injection?.moment.at !== "call") return undefined;
    const { fault, moment } = this.#injection;
    const asked = this.#run.ledger.asked.at(-1) ?? "";
    if (moment.of?.test(asked) !== false) this.#calls += 1;
    if (this.#calls !== moment.number) return undefined;
    this.injectedAt = asked;
    this.#run.activate({});
    if (fault.call !== undefined) return fault.call(call, this.#run);
    return this.#begin(call, fault);
  }

  async #begin(call: Call, fault: Fault) {
    const active = await fault.begin?.(call.instance, this.#run);
    this.#run.activate(active ?? {});
    return call.forward();
  }
}
