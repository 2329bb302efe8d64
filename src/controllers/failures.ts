import { type Key, refOf } from "../api/object.ts";
import type { FailedRequest } from "../domain/plan/failed-request.ts";
import {
  type ObservedFailure,
  recordFailure,
  reportAfterMs,
  type ReportedFailure,
} from "../domain/plan/failure-history.ts";
import { isRefusal, isRejection, isTooLarge, type KubeError } from "../kube/client/kube-error.ts";
import type { LeaderState } from "./memory.ts";
import { sourcesAt } from "./outbox-keys.ts";
import type { QueueName } from "./queues.ts";
import type { World } from "./world.ts";

/** The reported failure of a key: repeated for long enough, or refused. */
export function failureAt(
  queue: QueueName,
  key: Key,
  { memory }: LeaderState,
): ReportedFailure | undefined {
  return memory.failures[queue].get(key)?.reported?.failure;
}

/** What is known of a request that failed; `isWrite` if it was one of a plan's steps. */
export function failedRequest(error: KubeError, isWrite: boolean): FailedRequest {
  const { code, reason = code, explanation, causes, message, objectName } = error;
  const isNamespaceMissing =
    code === "NotFound" && message.startsWith("POST ") && objectName !== undefined;
  return {
    ...{ code, reason, message: explanation, requestMessage: message, isWrite },
    isRefusal: isRefusal(error),
    isRejection: isRejection(error),
    isTooLarge: isTooLarge(error),
    isNamespaceGone: causes.includes("NamespaceTerminating") || isNamespaceMissing,
  };
}

/**
 * Records a failed attempt; returns the failure that is now reported for the key. Requeues the key,
 * so that a repeated failure is reported in time.
 */
export function noteFailure(
  queue: QueueName,
  key: Key,
  failure: ObservedFailure,
  world: World,
): ReportedFailure | undefined {
  const { memory, clock, queues } = world;
  const failing = memory.failures[queue];
  const before = failing.get(key);
  const [monotonic, time] = [clock.monotonic(), clock.now()];
  const after = recordFailure(before, failure, { monotonic, time });
  failing.set(key, after);
  if (after.reported === undefined)
    queues[queue].addAt(key, time + after.since + reportAfterMs - monotonic);
  const reported = after.reported?.failure;
  if (after.reported !== before?.reported) enqueueReport(queue, key, reported, world);
  return reported;
}

/** Records a success, or that there is nothing left to try. */
export function endFailure(queue: QueueName, key: Key, world: World): void {
  const failing = world.memory.failures[queue];
  const before = failing.get(key);
  failing.delete(key);
  if (before?.reported !== undefined) enqueueReport(queue, key, undefined, world);
}

/** Enqueues what reports a failure, or its end. */
function enqueueReport(
  queue: QueueName,
  key: Key,
  reported: ReportedFailure | undefined,
  world: World,
): void {
  const enqueue = reportedElsewhere[queue];
  if (enqueue !== undefined) enqueue(key, world, reported);
  // The failed reconcile reports its failure itself; the end requires another reconcile.
  else if (reported === undefined) world.queues[queue].add(key, "high");
}

/** The queues whose failures the status of other objects reports. */
const reportedElsewhere: Readonly<
  Partial<Record<QueueName, (key: Key, world: World, reported?: ReportedFailure) => void>>
> = {
  copy(key, world, reported) {
    const { enqueuer, log } = world;
    indexTarget(key, reported, world);
    if (reported !== undefined)
      log.info(
        { controller: "copy", object: key, reason: reported.reason, why: reported.message },
        "writing the target Secret failed",
      );
    enqueuer.statusAt(refOf(key));
  },
  outbox(key, { enqueuer, stores, log }, reported) {
    if (reported !== undefined)
      log.info(
        { controller: "outbox", object: key, reason: reported.reason, why: reported.message },
        "writing the Secret of an outbox failed",
      );
    const existing = stores.outboxes.get(key);
    for (const source of sourcesAt(refOf(key), [existing], stores)) enqueuer.status(source);
  },
  grant: (key, { enqueuer }) => enqueuer.requestedBy(key),
  revokedTokens: (_, { enqueuer }) => enqueuer.pendingRevocations(),
};

function indexTarget(
  target: Key,
  reported: ReportedFailure | undefined,
  { memory: { failedTargets } }: LeaderState,
): void {
  const { namespace = "" } = refOf(target);
  const named = failedTargets.get(namespace) ?? new Set();
  if (reported === undefined) named.delete(target);
  else named.add(target);
  if (named.size === 0) failedTargets.delete(namespace);
  else failedTargets.set(namespace, named);
}
