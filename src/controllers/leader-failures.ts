import type { Key } from "../api/object.ts";
import type { Failure } from "../domain/plan/failure-history.ts";
import type { WorkQueue } from "../kube/queue.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { Enqueuer } from "./enqueuer.ts";
import { Failures, type FailuresDeps } from "./failures.ts";
import type { Queues } from "./queues.ts";
import { TargetFailures } from "./target-failures.ts";

/** The failures of a leader's reconciles, by queue. */
export interface LeaderFailures {
  readonly copyFailures: TargetFailures;
  readonly sharedSecretFailures: Failures;
  readonly keyFailures: Failures;
  readonly tokenFailures: Failures;
  readonly grantFailures: Failures;
  readonly revocationFailures: Failures;
  /**
   * The failure that the status of a target reports; undefined in the first 30 s of a transient
   * one.
   */
  readonly reportedFailureAt: (target: Key) => Failure | undefined;
}

/**
 * Dependencies of {@link createLeaderFailures}; failures of targets and grants enqueue through
 * `enqueuer`.
 */
export interface LeaderFailuresDeps {
  readonly queues: Queues;
  readonly clock: Clock;
  readonly log: Logger;
  readonly enqueuer: () => Pick<Enqueuer, "statusAt" | "requestedBy" | "pendingRevocations">;
}

/** Creates the failures of a new leader, without any entry. */
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
  // The failed reconcile reports its failure itself; the end of a failure requires another
  // reconcile.
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
    revocationFailures: new Failures({
      ...requeueing(queues.revokedTokens),
      onChange: () => enqueuer().pendingRevocations(),
    }),
  };
}
