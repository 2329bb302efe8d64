import type { Key } from "../api/object.ts";
import type { FailedRequest } from "../domain/plan/failed-request.ts";
import {
  type ObservedFailure,
  recordFailure,
  reportAfterMs,
  type ReportedFailure,
} from "../domain/plan/failure-history.ts";
import { isRefusal, isRejection, isTooLarge, type KubeError } from "../kube/client/kube-error.ts";
import type { QueueName } from "./queues.ts";
import type { Reconciler } from "./reconciler.ts";
import type { SyncState } from "./sync-state.ts";
import type { SyncWorld } from "./sync-world.ts";

/** The reported failure of a key: repeated for long enough, or refused. */
export function failureAt(
  queue: QueueName,
  key: Key,
  { memory }: Pick<SyncState, "memory">,
): ReportedFailure | undefined {
  return memory.failures[queue].get(key)?.reported?.failure;
}

/** What is known of a request that failed; `isWrite` if it was one of a plan's steps. */
export function failedRequest(error: KubeError, isWrite: boolean): FailedRequest {
  const { code, reason = code, explanation, causes, message, objectName } = error;
  const isNamespaceMissing =
    code === "NotFound" && message.startsWith("POST ") && objectName !== undefined;
  return {
    code,
    reason,
    message: explanation,
    requestMessage: message,
    isWrite,
    isRefusal: isRefusal(error),
    isRejection: isRejection(error),
    isTooLarge: isTooLarge(error),
    isNamespaceGone: causes.includes("NamespaceTerminating") || isNamespaceMissing,
  };
}

/** Whose failure it is. */
type Failing<W extends SyncWorld> = Pick<Reconciler<W>, "queue" | "reported">;

/**
 * Records a failed attempt; returns the failure that is now reported for the key. Requeues the key,
 * so that a repeated failure is reported in time. No success ends it before `contestedUntil`, in
 * monotonic milliseconds.
 */
export function noteFailure<W extends SyncWorld>(
  reconciler: Failing<W>,
  key: Key,
  failure: ObservedFailure,
  world: W,
  contestedUntil?: number,
): ReportedFailure | undefined {
  const { memory, clock, queues } = world;
  const failing = memory.failures[reconciler.queue];
  const before = failing.get(key);
  const [monotonic, time] = [clock.monotonic(), clock.now()];
  const until = contestedUntil ?? before?.contestedUntil;
  const after = {
    ...recordFailure(before, failure, { monotonic, time }),
    ...(until === undefined ? {} : { contestedUntil: until }),
  };
  failing.set(key, after);
  if (after.reported === undefined)
    queues[reconciler.queue].addAt(key, time + after.since + reportAfterMs - monotonic);
  const reported = after.reported?.failure;
  if (after.reported !== before?.reported) enqueueReport(reconciler, key, reported, world);
  return reported;
}

/** Records a success, or that there is nothing left to try. */
export function endFailure<W extends SyncWorld>(reconciler: Failing<W>, key: Key, world: W): void {
  const { memory, clock, queues } = world;
  const failing = memory.failures[reconciler.queue];
  const before = failing.get(key);
  const leftMs = (before?.contestedUntil ?? -Infinity) - clock.monotonic();
  if (leftMs > 0) return queues[reconciler.queue].addAt(key, clock.now() + leftMs);
  failing.delete(key);
  if (before?.reported !== undefined) enqueueReport(reconciler, key, undefined, world);
}

/** Enqueues what reports a failure, or its end. */
function enqueueReport<W extends SyncWorld>(
  { queue, reported: tell }: Failing<W>,
  key: Key,
  reported: ReportedFailure | undefined,
  world: W,
): void {
  if (tell !== undefined) tell(key, reported, world);
  // The failed reconcile reports its failure itself; the end requires another reconcile.
  else if (reported === undefined) world.queues[queue].add(key, "high");
}
