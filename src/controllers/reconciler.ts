import type { Key } from "../api/object.ts";
import type { FailedRequest, FailureVerdict } from "../domain/plan/failed-request.ts";
import type { ReportedFailure } from "../domain/plan/failure-history.ts";
import type { Plan } from "../domain/plan/plan.ts";
import type { Answers, ReconcileDecision } from "./question.ts";
import type { QueueName } from "./queues.ts";
import type { SyncWorld } from "./sync-world.ts";

/** A failure of a reconcile to report. */
interface FailureReport<W extends SyncWorld> {
  readonly key: Key;
  readonly world: W;
  readonly answers: Answers;
  /** The request that failed. */
  readonly failed: FailedRequest;
  /** Whether it was a delete. */
  readonly isDelete: boolean;
  /** The failure that is reported for the key; it changes rarely. */
  readonly reported: ReportedFailure;
}

/**
 * How the keys of a queue are reconciled in a world: observe, decide, and report what failed.
 */
export interface Reconciler<W extends SyncWorld = SyncWorld> {
  readonly queue: QueueName;
  /** Maximum number of concurrent reconciles. */
  readonly workers: (options: { readonly workers: number; readonly writers: number }) => number;
  /**
   * Observes the stores and decides. Called again with each set of answers, and observes anew each
   * time; may change the memory, but sends nothing.
   *
   * @example
   *   decide: (key, { stores, clock }) => planToken(stores.tokens.get(key), clock.now());
   */
  readonly decide: (key: Key, world: W, answers: Answers) => ReconcileDecision;
  /** What a failed request means; a temporary failure by default. */
  readonly judge?: (failed: FailedRequest, key: Key, world: W) => FailureVerdict;
  /** Plans the report of a failure in the status; undefined if there is nothing to report yet. */
  readonly report?: (report: FailureReport<W>) => Plan | undefined;
  /**
   * Called when a failure of a key is reported, or has ended (undefined), if the status of another
   * object says so; else the key is enqueued at the end.
   */
  readonly reported?: (key: Key, failure: ReportedFailure | undefined, world: W) => void;
  /** Called when a reconcile ends without an error. */
  readonly ended?: (key: Key, world: W, answers: Answers) => void;
}
