import { isRecord, numberAt } from "../../src/api/parse.ts";
import type { Moment } from "./fault.ts";
import { type Outcome, playScenario } from "./play.ts";
import { type ProcessRun, processRun } from "./process-backend.ts";
import { calmLease, type ProcessFault } from "./process-faults.ts";
import { type Change, isStep, type Scenario } from "./scenario.ts";
import type { Step } from "../support/actions.ts";
import type { Worker } from "./worker.ts";

/** Options of a scenario that is played with a real process. */
export interface ProcessPlayOptions {
  readonly worker: Worker;
  readonly program: string;
  readonly scenario: Scenario;
  readonly injection?: { readonly fault: ProcessFault; readonly moment: Moment };
}

/**
 * The factor by which lifetimes and outages are shorter, because the real clock cannot be advanced;
 * they are still longer than the replacement of a process.
 */
const haste = 30;

/** The scenario with outages and lifetimes that are thirty times shorter. */
export function inRealTime(scenario: Scenario): Scenario {
  return {
    ...scenario,
    changes(view) {
      const changes = scenario.changes(view);
      return changes.some((change) => "outageMs" in change) ? changes.map(hastened) : changes;
    },
  };
}

/** Plays a scenario with a real process and deletes its objects. */
export async function playProcess({
  worker,
  program,
  scenario,
  injection,
}: ProcessPlayOptions): Promise<Outcome> {
  let run: ProcessRun | undefined;
  const lease = injection?.fault.lease ?? calmLease;
  const outcome = await playScenario({
    worker,
    scenario,
    injection,
    runIn: (view) => {
      run = processRun({ cluster: worker.cluster, view }, { program, lease, restarts: true });
      return run;
    },
  });
  return { ...outcome, mistakes: [...outcome.mistakes, ...(run?.logbook.overlaps() ?? [])] };
}

function hastened(change: Change): Change {
  if ("outageMs" in change) return { outageMs: change.outageMs / haste };
  if ("withObject" in change)
    return { ...change, step: (metadata) => shortened(change.step(metadata)) };
  return isStep(change) ? shortened(change) : change;
}

function shortened(step: Step): Step {
  return step.map((action) => ({ ...action, body: withShortLife(action.body) }));
}

function withShortLife(body: unknown): unknown {
  const spec = isRecord(body) ? body.spec : undefined;
  const ttl = numberAt(spec, "ttl");
  return isRecord(body) && isRecord(spec) && ttl !== undefined
    ? { ...body, spec: { ...spec, ttl: ttl / haste } }
    : body;
}
