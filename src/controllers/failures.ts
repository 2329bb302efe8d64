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

/** What remembering failures needs. */
export interface FailuresDeps {
  readonly clock: Pick<Clock, "now" | "monotonic">;
  /**
   * Asks for another try at an instant in milliseconds since the epoch, so that what repeats is
   * said in time.
   */
  readonly lookAgainAt: (key: Key, at: number) => void;
  /** Told when what is said of a key changes, and when it ends. */
  readonly onChange: (key: Key, said: ReportedFailure | undefined) => void;
}

/**
 * What fails now, by key of its queue: nothing is kept of what has succeeded since. A new leader
 * begins anew.
 */
export class Failures {
  readonly #deps: FailuresDeps;
  readonly #failing = new Map<Key, FailureHistory>();

  constructor(deps: FailuresDeps) {
    this.#deps = deps;
  }

  /** How many keys fail. */
  get size(): number {
    return this.#failing.size;
  }

  /** What is said of a key: that the last tries failed for long, or were refused. */
  at(key: Key): ReportedFailure | undefined {
    return this.#failing.get(key)?.reported?.failure;
  }

  /** A try has failed; answers what is said of the key now. */
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

  /** A try has succeeded, or there is nothing to try any more. */
  end(key: Key): void {
    const before = this.#failing.get(key);
    this.#failing.delete(key);
    if (before?.reported !== undefined) this.#deps.onChange(key, undefined);
  }
}

/** One try to apply an object, and how to say in its status that tries fail. */
export interface Try {
  readonly apply: () => Promise<Result>;
  readonly report: (failure: ReportedFailure) => Promise<void>;
  /** What a KubeError is said to be; {@link passingFailureOf} unless given. */
  readonly failureOf?: (error: KubeError) => ObservedFailure;
}

/** Runs one try; a KubeError is noted, said in the status when it is time to, and thrown. */
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
    // Without the Lease nothing is written, and nothing is known.
    if (!isKubeError(error) || error.code === "Fenced") throw error;
    const said = failures.record(key, failureOf(error));
    if (said !== undefined) await reported(() => report(said));
    throw error;
  }
}

/**
 * What refuses the writes of an object itself or of a requester's grants is none of its user's
 * mistakes, and may go away.
 */
function passingFailureOf({ reason, code, message }: KubeError): ObservedFailure {
  return { kind: "failed", reason: reason ?? code, message };
}

/**
 * What the API server refuses or cannot store of Roles and RoleBindings, somebody has to change.
 */
export function accessFailureOf(error: KubeError): ObservedFailure {
  if (isTooLarge(error))
    return { kind: "too-large", reason: "TooLarge", message: error.explanation };
  if (isRefusal(error))
    return { kind: "refused", reason: error.reason ?? error.code, message: error.explanation };
  return passingFailureOf(error);
}

/** What fails to be applied may fail to be reported, too: the next try reports it again. */
async function reported(report: () => Promise<void>): Promise<void> {
  try {
    await report();
  } catch (error) {
    if (!isKubeError(error)) throw error;
  }
}
