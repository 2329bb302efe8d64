import { type Key, type ObjectRef, refOf } from "../api/object.ts";
import { resources } from "../api/resources.ts";
import type { SecretData } from "../api/shared-secret.ts";
import { targetFailure } from "../domain/plan/failed-request.ts";
import { nothingToDo } from "../domain/plan/plan.ts";
import { targetState, writtenForm, writtenSource } from "../domain/sync/sync.ts";
import { observeTarget } from "../domain/sync/sync-objects.ts";
import type { TargetState } from "../domain/sync/target-state.ts";
import { rejectedSteps, targetSteps } from "../domain/sync/target-steps.ts";
import { type Answers, answerTo, type Ask, type Decision, isAsk, readOf } from "./question.ts";
import type { Reconciler } from "./reconciler.ts";
import { endRefresh } from "./refreshes.ts";
import { keptData } from "./source-data.ts";
import type { World } from "./world.ts";

const askAgainMs = 5_000;

/**
 * Reconciles one Secret in a project namespace; reads it from the API server first if a refresh
 * waits for it.
 */
export const copyReconciler: Reconciler = {
  queue: "copy",
  workers: ({ writers }) => writers,
  decide,
  judge: (failed, _, { clock }) => targetFailure(failed, clock.now()),
  report({ key, world, failed }) {
    if (!failed.isRejection) return undefined;
    const state = targetState(observeTarget(refOf(key), world.stores));
    const steps = rejectedSteps(state, `${failed.reason}: ${failed.message}`);
    return { ...nothingToDo, steps };
  },
  ended(key, world, answers) {
    const refreshed = answerTo(refreshOf(refOf(key)), answers);
    if (refreshed !== undefined) endRefresh(key, refreshed.sources, world);
  },
};

function decide(key: Key, world: World, answers: Answers): Decision {
  const target = refOf(key);
  const sources = world.memory.refreshes.byTarget.get(key) ?? new Set();
  const refresh = { ...refreshOf(target), sources: [...sources] };
  if (sources.size > 0 && answerTo(refresh, answers) === undefined) return { questions: [refresh] };
  const state = targetState(observeTarget(target, world.stores));
  const written = dataOf(state, answers);
  if (isAsk(written)) return written;
  const isGone = isSourceGone(state, answers);
  if (isAsk(isGone)) return isGone;
  // The data changed since it was read, or the stores lag behind; a watch event follows.
  if (written.isChanged || !isGone.confirmed) return { decideAt: world.clock.now() + askAgainMs };
  return { ...nothingToDo, steps: targetSteps(target, state, written.data) };
}

interface WrittenData {
  readonly data?: SecretData;
  readonly isChanged: boolean;
}

/** The data for the write of a state, if it writes data. */
function dataOf(state: TargetState, answers: Answers): WrittenData | Ask {
  const source = writtenSource(state);
  if (source === undefined) return { isChanged: false };
  const form = writtenForm(state);
  const kept = keptData(source, form);
  if (kept !== undefined) return { data: kept, isChanged: false };
  const read = { do: "read-data", source, form } as const;
  const answer = answerTo(read, answers);
  if (answer === undefined) return { questions: [read] };
  const { data } = answer;
  return data === undefined ? { isChanged: true } : { data, isChanged: false };
}

/** Whether no SharedSecret with the name of an orphan's source exists, if that is to be known. */
function isSourceGone(state: TargetState, answers: Answers): { readonly confirmed: boolean } | Ask {
  if (state.kind !== "orphaned") return { confirmed: true };
  const read = readOf(resources.sharedSecrets, state.source);
  const answer = answerTo(read, answers);
  return answer === undefined ? { questions: [read] } : { confirmed: answer.live.kind === "gone" };
}

function refreshOf(target: ObjectRef) {
  return { do: "refresh", resource: resources.secrets, ref: target } as const;
}
