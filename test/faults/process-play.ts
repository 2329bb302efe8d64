import { setTimeout as pause } from "node:timers/promises";
import { isRecord, numberAt } from "../../src/api/parse.ts";
import { calmLease, type ProcessFault } from "./process-faults.ts";
import { type ProcessCall, ProcessRun } from "./process-run.ts";
import type { Worker } from "./worker.ts";
import { endStateOf, type Outcome } from "./play.ts";
import { type Change, isStep, type Scenario } from "./scenarios.ts";

/** What happens to a real process, at its k-th write from 1. */
export interface ProcessInjection {
  readonly fault: ProcessFault;
  readonly write: number;
}

/** How a scenario is played before a real process. */
export interface ProcessPlayOptions {
  readonly worker: Worker;
  readonly program: string;
  readonly scenario: Scenario;
  readonly injection?: ProcessInjection;
}

/**
 * How much shorter lives and outages are where nobody can move the clock; long enough to outlive a
 * process that is replaced.
 */
const haste = 30;

/** The scenario with its outages, and the lives that end in them, thirty times shorter. */
export function inRealTime(scenario: Scenario): Scenario {
  return {
    ...scenario,
    changes(view) {
      const changes = scenario.changes(view);
      return changes.some((change) => "outageMs" in change) ? changes.map(hastened) : changes;
    },
  };
}

/** Plays a scenario before a real process and takes everything away again. */
export async function playProcess({
  worker,
  program,
  scenario,
  injection,
}: ProcessPlayOptions): Promise<Outcome> {
  const { cluster } = worker;
  const view = await worker.nextView();
  const injector = new ProcessFaultInjector(injection);
  const run = new ProcessRun({
    cluster,
    view,
    program,
    lease: injection?.fault.lease ?? calmLease,
    restarts: true,
    onCall: (call) => injector.onCall(call, run),
  });
  const { logbook } = run;
  const changes = scenario.changes(view);
  let calls: readonly string[] = [];
  let late: readonly string[] = [];
  try {
    for (const { by = {}, until, ...request } of scenario.grounds(view))
      await run.perform(by, request, until);
    await run.start("a");
    await run.settle();
    const made = logbook.writes.length;
    injector.arm();
    for (const change of changes) {
      await perform(run, change);
      await run.settle();
    }
    calls = logbook.ledger.asked.slice(made);
    late = await run.quiet();
  } catch (error) {
    run.mistakes.push(error instanceof Error ? error.message : String(error));
  }
  const endState = await endStateOf(cluster, view);
  await run.end();
  await worker.tidy(view);
  return {
    endState,
    counts: logbook.ledger.counts,
    calls,
    changes: changes.length,
    late,
    mistakes: [...run.mistakes, ...logbook.overlaps()],
    injectedAt: injector.injectedAt,
    trace: logbook.ledger.trace,
  };
}

async function perform(run: ProcessRun, change: Change): Promise<void> {
  if ("nextSecond" in change) await pause(1_000);
  else if ("outageMs" in change) {
    const lasting = run.replicas.filter(({ isStanding }) => !isStanding);
    await Promise.all(lasting.map((replica) => replica.down()));
    await pause(change.outageMs);
    for (const replica of lasting) replica.up();
  } else if (!isStep(change)) throw new Error("a real process is not asked this");
  else
    await Promise.all(
      change.map(({ by = {}, until, ...request }) => run.perform(by, request, until)),
    );
}

function hastened(change: Change): Change {
  if ("outageMs" in change) return { outageMs: change.outageMs / haste };
  return !isStep(change)
    ? change
    : change.map((action) => ({ ...action, body: withShortLife(action.body) }));
}

function withShortLife(body: unknown): unknown {
  const spec = isRecord(body) ? body.spec : undefined;
  const ttl = numberAt(spec, "ttl");
  return isRecord(body) && isRecord(spec) && ttl !== undefined
    ? { ...body, spec: { ...spec, ttl: ttl / haste } }
    : body;
}

/** Lets a fault loose at its write. */
class ProcessFaultInjector {
  readonly #injection: ProcessInjection | undefined;
  #writes: number | undefined;
  injectedAt: string | undefined;

  constructor(injection: ProcessInjection | undefined) {
    this.#injection = injection;
  }

  arm(): void {
    this.#writes = 0;
  }

  onCall(call: ProcessCall, run: ProcessRun) {
    if (
      this.#injection === undefined ||
      this.#writes === undefined ||
      this.injectedAt !== undefined
    )
      return undefined;
    this.#writes += 1;
    if (this.#writes !== this.#injection.write) return undefined;
    this.injectedAt = run.logbook.ledger.asked.at(-1) ?? "";
    return this.#injection.fault.inject(call, run);
  }
}
