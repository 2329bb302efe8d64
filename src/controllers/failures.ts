import type { Result } from "../api/result.ts";
import type { Key } from "../api/object.ts";
import {
  recordFailure,
  type FailureHistory,
  type ObservedFailure,
  reportAfterMs,
  type ReportedFailure,
} from "../domain/plan/failure-history.ts";
import { isKubeError, isRefusal, isTooLarge, type KubeError } from "../kube/errors.ts";
import type { Clock } from "../runtime/clock.ts";

/** Dependencies of {@link Failures}. */
export interface FailuresDeps {
  readonly clock: Pick<Clock, "now" | "monotonic">;
  /**
   * Requeues a key at an instant in milliseconds since the epoch, so that a repeated failure is
   * reported in time.
   */
  readonly lookAgainAt: (key: Key, at: number) => void;
  /** Called when the reported failure of a key changes or ends. */
  readonly onChange: (key: Key, said: ReportedFailure | undefined) => void;
}

/**
 * The current failures of a queue, by key; a success removes the failure. A new leader starts
 * without any.
 */
export class Failures {
  readonly #deps: FailuresDeps;
  readonly #failing = new Map<Key, FailureHistory>();

  constructor(deps: FailuresDeps) {
    this.#deps = deps;
  }

  /** Number of failing keys. */
  get size(): number {
    return this.#failing.size;
  }

  /** The reported failure of a key: repeated for long enough, or refused. */
  at(key: Key): ReportedFailure | undefined {
    return this.#failing.get(key)?.reported?.failure;
  }

  /** Records a failed attempt; returns the failure that is now reported for the key. */
  record(key: Key, failure: ObservedFailure): ReportedFailure | undefined {
    const { clock, lookAgainAt, onChange } = this.#deps;
    const before = this.#failing.get(key);
    const monotonic = clock.monotonic();
    const after = recordFailure(before, failure, { monotonic, time: clock.now() });
    this.#failing.set(key, after);
    if (after.reported === undefined)
      lookAgainAt(key, clock.now() + after.since + reportAfterMs - monotonic);
    if (after.reported !== before?.reported) onChange(key, after.reported?.failure);
    return after.reported?.failure;
  }

  /** Records a success, or that there is nothing left to try. */
  end(key: Key): void {
    const before = this.#failing.get(key);
    this.#failing.delete(key);
    if (before?.reported !== undefined) this.#deps.onChange(key, undefined);
  }
}

/** One attempt to apply an object, and how to report failures in its status. */
export interface Try {
  readonly apply: () => Promise<Result>;
  readonly report: (failure: ReportedFailure) => Promise<void>;
  /** Classifies a KubeError; {@link passingFailureOf} by default. */
  readonly failureOf?: (error: KubeError) => ObservedFailure;
}

/**
 * Runs one attempt; a KubeError is recorded, reported in the status when that is due, and thrown.
 */
export async function recordingFailures(
  key: Key,
  { apply, report, failureOf = passingFailureOf }: Try,
  failures: Pick<Failures, "record" | "end">,
): Promise<Result> {
  try {
    const next = await apply();
    failures.end(key);
    return next;
  } catch (error) {
    // Without the Lease no request is sent, so the error says nothing about the object.
    if (!isKubeError(error) || error.code === "Fenced") throw error;
    const said = failures.record(key, failureOf(error));
    if (said !== undefined) await reported(() => report(said));
    throw error;
  }
}

/**
 * Classifies a failure as temporary: users do not cause the rejection of writes to their object
 * itself, or to their requester's grants, and it may end.
 */
function passingFailureOf({ reason, code, message }: KubeError): ObservedFailure {
  return { kind: "failed", reason: reason ?? code, message };
}

/**
 * Classifies a failure to write Roles and RoleBindings: a user must change what the API server
 * rejects or cannot store.
 */
export function accessFailureOf(error: KubeError): ObservedFailure {
  if (isTooLarge(error))
    return { kind: "too-large", reason: "TooLarge", message: error.explanation };
  if (isRefusal(error))
    return { kind: "refused", reason: error.reason ?? error.code, message: error.explanation };
  return passingFailureOf(error);
}

/** Reports a failure. The report may fail for the same reason; the next attempt reports again. */
async function reported(report: () => Promise<void>): Promise<void> {
  try {
    await report();
  } catch (error) {
    if (!isKubeError(error)) throw error;
  }
}
