import { annotations } from "../api/names.ts";
import { type Key, keyOf, type ObjectRef } from "../api/object.ts";
import { recordAt, stringAt } from "../api/parse.ts";
import type { Source } from "../domain/sync/copy.ts";
import type { Refresh, SyncState } from "./sync-state.ts";

/** What the status says about the refresh of a SharedSecret. */
export interface RefreshProgress {
  /** The value of `refresh-now` whose refresh is complete; absent if there is none. */
  readonly refreshed?: string;
  /** When the next refresh may start, in milliseconds since the epoch. */
  readonly startAt?: number;
}

/** Least time between the starts of two refreshes of a SharedSecret. */
const leastIntervalMs = 10_000;
/** Characters of `refresh-now` that count; the status contains as many. */
const longestValue = 256;

/**
 * Starts the refresh that a SharedSecret requests, if one is due at `now`, in milliseconds since
 * the epoch; returns its progress.
 */
export function observeRefresh(
  { secret }: Source,
  { targets, now }: { readonly targets: () => readonly ObjectRef[]; readonly now: number },
  leader: SyncState,
): RefreshProgress {
  const { bySource } = leader.memory.refreshes;
  const key = keyOf(secret.metadata);
  const { uid, annotations: given } = secret.metadata;
  const requested = given[annotations.refreshNow]?.slice(0, longestValue);
  const refreshed = stringAt(recordAt(secret.status, "sync"), "refreshed");
  const known = bySource.get(key);
  const last = known?.uid === uid ? known : undefined;
  const done = last?.waiting.size === 0 ? last.value : refreshed;
  const progress = done === undefined ? {} : { refreshed: done };
  if (requested === undefined) {
    if (last !== undefined) bySource.set(key, withoutValue(last));
    return {};
  }
  if (requested === done || (last?.waiting.size ?? 0) > 0) return progress;
  const startAt = (last?.startedAt ?? -Infinity) + leastIntervalMs;
  if (startAt > now) return { ...progress, startAt };
  const waiting = new Set(targets().map(keyOf));
  start(key, { uid, value: requested, startedAt: now, waiting }, leader);
  return waiting.size === 0 ? { refreshed: requested } : progress;
}

/** Records that a target was read for these SharedSecrets, and reconciled. */
export function endRefresh(
  target: Key,
  sources: Iterable<Key>,
  { memory, queues }: SyncState,
): void {
  const { bySource, byTarget } = memory.refreshes;
  const left = byTarget.get(target);
  for (const source of sources) {
    left?.delete(source);
    const refresh = bySource.get(source);
    if (refresh?.waiting.delete(target) === true && refresh.waiting.size === 0)
      queues.sharedSecret.add(source, "normal");
  }
  if (left?.size === 0) byTarget.delete(target);
}

/** Forgets the refresh of a SharedSecret that no longer exists. */
export function forgetRefresh(source: Key, { memory }: SyncState): void {
  const { bySource, byTarget } = memory.refreshes;
  for (const target of bySource.get(source)?.waiting ?? []) {
    const left = byTarget.get(target);
    left?.delete(source);
    if (left?.size === 0) byTarget.delete(target);
  }
  bySource.delete(source);
}

function start(source: Key, refresh: Refresh, leader: SyncState): void {
  forgetRefresh(source, leader);
  const { bySource, byTarget } = leader.memory.refreshes;
  bySource.set(source, refresh);
  for (const target of refresh.waiting) {
    byTarget.set(target, (byTarget.get(target) ?? new Set()).add(source));
    leader.queues.copy.add(target, "low");
  }
}

function withoutValue({ uid, startedAt, waiting }: Refresh): Refresh {
  return { uid, startedAt, waiting };
}
