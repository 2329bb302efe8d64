import { setTimeout as pause } from "node:timers/promises";
import type { assembleController } from "../../src/controllers/assemble.ts";
import { snapshotOf, type Snapshot } from "../support/snapshot.ts";
import type { Fault, Moment } from "./faults.ts";
import type { Lane } from "./lane.ts";
import type { Counts } from "./ledger.ts";
import { type Call, Run } from "./run.ts";
import { type Change, isStep, type Scenario, signingKeys } from "./scenarios.ts";
import type { View } from "../support/visible-objects.ts";
import { performWithWebhook } from "./webhook-deeds.ts";
import { webhookStateOf } from "./webhook-state.ts";
import type { World } from "../support/proxied-cluster.ts";

/** What a fault does to a scenario, and when. */
export interface Strike {
  readonly fault: Fault;
  readonly moment: Moment;
}

/** How a scenario is played; `assemble` replaces Latchkey's own controller. */
export interface PlayOptions {
  readonly lane: Lane;
  readonly scenario: Scenario;
  readonly seed: number;
  readonly strike?: Strike;
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
   * The write that the fault struck, or the change before which it did; undefined when its moment
   * never came.
   */
  readonly struck: string | undefined;
  /** The run's story, one line for each write, answer and jump of the clock. */
  readonly trace: readonly string[];
}

/** Plays a scenario in names of its own and takes everything away again. */
export async function play({
  lane,
  scenario,
  seed,
  strike,
  assemble,
}: PlayOptions): Promise<Outcome> {
  const { world } = lane;
  const view = await lane.nextView();
  const run = new Run({
    world,
    view,
    seed,
    ...(scenario.programs === undefined ? {} : { programs: scenario.programs }),
    ...(assemble === undefined ? {} : { assemble }),
  });
  const changes = scenario.changes(view);
  let late: readonly string[] = [];
  let calls: readonly string[] = [];
  const striker = new Striker(run, strike);
  try {
    for (const { by = {}, until, ...request } of scenario.grounds(view))
      await run.perform(by, request, until);
    await run.startMissing();
    await run.settle();
    const made = run.ledger.asked.length;
    striker.arm();
    for (const [index, change] of changes.entries()) {
      await striker.beforeChange(index + 1);
      await perform(run, world, change);
      await run.startMissing();
      await run.settle();
    }
    calls = run.ledger.asked.slice(made);
    late = await run.quiet();
  } catch (error) {
    run.mistakes.push(error instanceof Error ? error.message : String(error));
  }
  const endState = await endStateOf(world, view);
  run.end();
  await lane.tidy(view);
  return {
    endState,
    counts: run.ledger.counts,
    calls,
    changes: changes.length,
    late,
    mistakes: run.mistakes,
    struck: striker.struck,
    trace: run.ledger.trace,
  };
}

/** All that Latchkey has made or judged in a run, without what differs between runs. */
export async function endStateOf(world: World, view: View): Promise<Snapshot> {
  const snapshot = await snapshotOf(world, view.prefix.slice(0, -1));
  const texts = [...snapshot, ...(await webhookStateOf(world, view))];
  return texts.map((text) =>
    text
      .replaceAll(/"keyID": "[\w-]{43}"/g, '"keyID": "kid"')
      .replaceAll(/latchkey-connector-[0-9a-f]{32}\/[0-9a-f]{64}/g, "a claim"),
  );
}

/** Plays nothing, so that the lane has signing keys. */
export async function warmUp(lane: Lane): Promise<void> {
  const nothing: Scenario = { name: "nothing", grounds: () => [], changes: () => [] };
  await play({ lane, scenario: nothing, seed: 0 });
  const { system } = await lane.nextView();
  await lane.world.arrange({ method: "GET", path: signingKeys({ prefix: "", system }) });
}

async function perform(run: Run, world: World, change: Change): Promise<void> {
  if ("use" in change || "admit" in change) await performWithWebhook(run, world, change);
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
class Striker {
  readonly #run: Run;
  readonly #strike: Strike | undefined;
  #calls = 0;
  struck: string | undefined;

  constructor(run: Run, strike: Strike | undefined) {
    this.#run = run;
    this.#strike = strike;
  }

  arm(): void {
    if (this.#strike?.moment.at === "call")
      this.#run.strikeWith({ onCall: (call) => this.#onCall(call) });
  }

  async beforeChange(number: number): Promise<void> {
    if (this.#strike?.fault.needsLists === true && this.struck === undefined)
      await this.#run.recordLists();
    const instance = [...this.#run.instances].find(({ name }) => name === this.#run.names.at(-1));
    if (
      this.#strike?.moment.at !== "change" ||
      this.#strike.moment.number !== number ||
      instance === undefined
    )
      return;
    this.struck = `change ${number}`;
    this.#run.strikeWith((await this.#strike.fault.begin?.(instance, this.#run)) ?? {});
  }

  #onCall(call: Call) {
    if (this.#strike?.moment.at !== "call") return undefined;
    const { fault, moment } = this.#strike;
    const asked = this.#run.ledger.asked.at(-1) ?? "";
    if (moment.of?.test(asked) !== false) this.#calls += 1;
    if (this.#calls !== moment.number) return undefined;
    this.struck = asked;
    this.#run.strikeWith({});
    if (fault.call !== undefined) return fault.call(call, this.#run);
    return this.#begin(call, fault);
  }

  async #begin(call: Call, fault: Fault) {
    const striking = await fault.begin?.(call.instance, this.#run);
    this.#run.strikeWith(striking ?? {});
    return call.forward();
  }
}
