import type { Key } from "../api/object.ts";
import type { Failure } from "../domain/plan/failure-history.ts";
import type { WorkQueue } from "../kube/queue.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { Enqueuer } from "./enqueuer.ts";
import { Failures, type FailuresDeps } from "./failures.ts";
import type { Queues } from "./queues.ts";
import { TargetFailures } from "./target-failures.ts";

/** What a leader remembers of reconciles that fail, by queue. */
export interface LeaderFailures {
  readonly copyFailures: TargetFailures;
  readonly sharedSecretFailures: Failures;
  readonly keyFailures: Failures;
  readonly tokenFailures: Failures;
  readonly grantFailures: Failures;
  /**
   * The failure that the status of a target reports; undefined in the first 30 s of a transient
   * one.
   */
  readonly reportedFailureAt: (target: Key) => Failure | undefined;
}

/** What the failures of a leader need; `enqueuer` follows those of targets and grants. */
export interface LeaderFailuresDeps {
  readonly queues: Queues;
  readonly clock: Clock;
  readonly log: Logger;
  readonly enqueuer: () => Pick<Enqueuer, "statusAt" | "requestedBy">;
}

/** Creates the memory of a new leader. */
export function createLeaderFailures({
  queues,
  clock,
  log,
  enqueuer,
}: LeaderFailuresDeps): LeaderFailures {
  const requeueing = (queue: WorkQueue): Pick<FailuresDeps, "clock" | "lookAgainAt"> => ({
    clock,
    lookAgainAt: (key, at) => queue.addAt(key, at),
  });
  // The reconcile that failed writes the failure; the end of one needs a reconcile of its own.
  const ownFailures = (queue: WorkQueue): Failures =>
    new Failures({
      ...requeueing(queue),
      onChange: (key, failure) => (failure === undefined ? queue.add(key, "high") : undefined),
    });
  const copyFailures = new TargetFailures({
    ...requeueing(queues.copy),
    log,
    recount: (target) => enqueuer().statusAt(target),
  });
  return {
    copyFailures,
    reportedFailureAt: (target) => copyFailures.at(target),
    sharedSecretFailures: ownFailures(queues.sharedSecret),
    keyFailures: ownFailures(queues.key),
    tokenFailures: ownFailures(queues.token),
    grantFailures: new Failures({
      ...requeueing(queues.grant),
      onChange: (hash) => enqueuer().requestedBy(hash),
    }),
  };
}
