import type { Key } from "../../api/object.ts";
import { reportName, reportNumberOf } from "../../domain/outbox/outbox-names.ts";
import { sourceReportOf } from "../../domain/outbox/report-of.ts";
import type { ListedFailure } from "../../domain/object-state.ts";
import { nothingToDo, type Plan, requeueAt } from "../../domain/plan/plan.ts";
import { isSame } from "../../domain/plan/merge-patch.ts";
import type { Source } from "../../domain/sync/copy.ts";
import { copyKeysOf } from "../../domain/sync/observed-target.ts";
import { type SyncSummary, targetEvents } from "../../domain/sync/sync-summary.ts";
import { startRefresh } from "../kinds/source.ts";
import { type Answers, answerTo, type ReconcileDecision } from "../question.ts";
import type { Reconciler } from "../reconciler.ts";
import { forgetRefresh } from "../refreshes.ts";
import type { ReportedSource } from "../sync-state.ts";
import type { SyncWorld } from "../sync-world.ts";

/** Batches the changes of a fan-out, in milliseconds. */
const reportDelayMs = 500;

/**
 * Counts the targets of an entry of the outbox for the report of its cluster, and records Events at
 * those that fail; its copies are reconciled by their own queue.
 */
export const sourceReportReconciler: Reconciler = {
  queue: "sharedSecret",
  workers: ({ workers }) => workers,
  decide,
};

function decide(key: Key, world: SyncWorld, answers: Answers): ReconcileDecision {
  const source = world.stores.sharedSecrets.get(key);
  if (source === undefined) return decideMissing(key, world);
  const count = { do: "count-targets", source } as const;
  const summary = answerTo(count, answers)?.summary;
  if (summary === undefined) return { questions: [count] };
  const { memory, clock } = world;
  const { uid, resourceVersion: seen } = source.secret.metadata;
  const known = { uid, reportName: reportName(reportNumberOf(uid)) };
  // What cannot be removed is reported like a target that fails.
  const reported: ReportedSource =
    isWithdrawn(source) && summary.unremoved === 0
      ? { ...known, seen, isDone: copyKeysOf(source, world.stores).length === 0 }
      : { ...known, report: sourceReportOf(source, summary), failures: failuresOf(summary) };
  const before = memory.sourceReports.get(key);
  note(key, reported, world);
  const { startAt } = startRefresh(source, clock.now(), world);
  const result = startAt === undefined ? nothingToDo.result : requeueAt(clock.now(), [startAt]);
  return { ...nothingToDo, steps: eventSteps(source, summary, before), result };
}

/**
 * An Event at each target that fails since this source was counted last: nobody in the cluster can
 * read the SharedSecret.
 */
function eventSteps(
  { secret }: Source,
  summary: SyncSummary,
  before: ReportedSource | undefined,
): Plan["steps"] {
  const failures = before !== undefined && "failures" in before ? before.failures : [];
  const events = targetEvents({ ...secret, status: { sync: { failures } } }, summary);
  return events.length === 0 ? [] : [events];
}

function failuresOf({ failures }: SyncSummary): readonly ListedFailure[] {
  return failures.map(({ namespace, name, reason, message }) => ({
    namespace,
    name,
    reason,
    message,
  }));
}

/** An entry that is missing means nothing: the report names its copies, which stay. */
function decideMissing(key: Key, world: SyncWorld): ReconcileDecision {
  forgetRefresh(key, world);
  note(key, undefined, world);
  return nothingToDo;
}

/** Whether everything that was made of a source is to be removed: its entry names no project. */
function isWithdrawn({ options }: Source): boolean {
  return options.problem === undefined && options.projects.length === 0;
}

function note(key: Key, after: ReportedSource | undefined, world: SyncWorld): void {
  const { memory, queues, clock } = world;
  const before = memory.sourceReports.get(key);
  if (after === undefined) memory.sourceReports.delete(key);
  else memory.sourceReports.set(key, after);
  if (isSame(before, after)) return;
  const names = new Set([before, after].flatMap((each) => each?.reportName ?? []));
  for (const name of names) queues.clusterReport.addAt(name, clock.now() + reportDelayMs);
}
