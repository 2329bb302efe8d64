import { type Key, keyOf, refOf } from "../api/object.ts";
import { resources } from "../api/resources.ts";
import type { Source } from "../domain/sync/copy.ts";
import type { Target } from "../domain/sync/obstacles.ts";
import { withheldKeys } from "../domain/sync/copy-metadata.ts";
import {
  annotatedKeysOf,
  emptyProjectsOf,
  existingAt,
  observeTarget,
  targetsOf,
  type ObservedTarget,
} from "../domain/sync/observed-target.ts";
import {
  type LeftoverReport,
  summarize,
  type SyncSummary,
  type TargetReport,
} from "../domain/sync/sync-summary.ts";
import { leftoverText } from "../domain/sync/leftover.ts";
import { isToRemove } from "../domain/sync/state-table.ts";
import { targetState } from "../domain/sync/target-state.ts";
import { failureAt } from "./failures.ts";
import type { SyncState, SyncStores } from "./sync-state.ts";

/** Calls a function with each item, and may give way to other work in between. */
export type ForEach = <T>(items: Iterable<T>, work: (item: T) => void) => Promise<void>;

/**
 * The states of the targets of a SharedSecret. A change of one meanwhile enqueues the SharedSecret
 * again.
 */
export async function countTargets(
  source: Source,
  leader: SyncState,
  forEach: ForEach,
): Promise<SyncSummary> {
  const { stores } = leader;
  const reports: TargetReport[] = [];
  const targets = targetsOf(source, stores);
  await forEach(targets, (target) => {
    reports.push(targetReport(source, target, leader));
  });
  const wanted = new Set(targets.map(keyOf));
  const others = annotatedKeysOf(source, stores).filter((key) => !wanted.has(key));
  const leftovers = others.flatMap((key) => leftoverReport(key, leader));
  return summarize(source, reports, emptyProjectsOf(source, stores), leftovers);
}

/** The Secrets of a SharedSecret that is being deleted that cannot be removed. */
export function countLeftovers(source: Source, leader: SyncState): SyncSummary {
  const leftovers = annotatedKeysOf(source, leader.stores).flatMap((key) =>
    leftoverReport(key, leader),
  );
  return summarize(source, [], [], leftovers);
}

function leftoverReport(key: Key, leader: SyncState): readonly LeftoverReport[] {
  const observed = observeTarget(refOf(key), leader.stores);
  const copy = existingAt(observed);
  if (copy === undefined || !isToRemove(targetState(observed))) return [];
  const why = leftoverText(copy, failureAt("copy", key, leader));
  const { namespace = "", name } = copy.metadata;
  const regarding = { resource: resources.secrets, subject: copy.metadata };
  return why === undefined ? [] : [{ target: { namespace, name }, regarding, why }];
}

function targetReport(source: Source, target: Target, leader: SyncState): TargetReport {
  const { stores } = leader;
  const seen = observeTarget(target, stores);
  const failure = failureAt("copy", keyOf(target), leader);
  const [, newer] = seen.candidates[0] === source ? seen.candidates : [];
  return {
    target,
    regarding: regardingOf(target, seen, stores),
    state: targetState(seen),
    request: seen.request,
    failure,
    conflicting: newer?.secret.metadata,
    // A placeholder has only its own labels and annotations.
    withheld:
      seen.request === undefined
        ? withheldKeys(source.options.copyMetadata, seen.allowCopyKeys)
        : undefined,
  };
}

/** The object that an Event at the target regards: the existing Secret, or the namespace. */
function regardingOf(
  target: Target,
  { copy, unmanaged }: ObservedTarget,
  { namespaces }: SyncStores,
): TargetReport["regarding"] {
  const existing = copy ?? unmanaged;
  if (existing !== undefined) return { resource: resources.secrets, subject: existing.metadata };
  const { namespace } = target;
  // An Event must be in the namespace of its regarding object; for a Namespace, that is its own
  // name.
  return {
    resource: resources.namespaces,
    subject: { namespace, name: namespace, uid: namespaces.get(namespace)?.uid ?? "" },
  };
}
