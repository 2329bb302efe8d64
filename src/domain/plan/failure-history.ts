/** What went wrong in one try; `message` holds no secret. */
export interface Failure {
  /** For programs: the reason of a metav1.Status, or the code of a KubeError. */
  readonly reason: string;
  /** For people, and often of varying wording: resourceVersions, counts, times. */
  readonly message: string;
}

/** What went wrong, and what kind of failure that is. */
export interface ObservedFailure extends Failure {
  /**
   * `refused`: somebody has to change something, which is said at once. `too-large`: the same, and
   * the API server cannot store it. `failed`: said once it has repeated for {@link patienceMs}.
   */
  readonly kind: "refused" | "too-large" | "failed";
}

/** A failure that is said of an object, in its status or in that of its source. */
export interface ReportedFailure extends ObservedFailure {
  /**
   * When the first of the tries failed that have failed ever since, in milliseconds since the
   * epoch.
   */
  readonly since: number;
}

/** Tries that have failed without a success in between; instants are monotonic milliseconds. */
export interface FailureHistory {
  readonly since: number;
  readonly sinceTime: number;
  /** What is said of it; absent while it may pass. */
  readonly reported?: { readonly failure: ReportedFailure; readonly at: number };
}

/** The clocks: monotonic milliseconds, and milliseconds since the epoch. */
export interface Instant {
  readonly monotonic: number;
  readonly time: number;
}

/** How long a failure repeats before it is said. */
export const patienceMs = 30_000;

/**
 * How long what is said stands before another failure replaces it: of another reason, or of the
 * same in other words.
 */
const minimumReportMs = { otherReason: 60_000, otherWords: 600_000 } as const;

/**
 * Takes in one more failed try. What is said changes seldom: most sentences vary from try to try,
 * and every change is a write of a status.
 */
export function recordFailure(
  before: FailureHistory | undefined,
  failure: ObservedFailure,
  { monotonic, time }: Instant,
): FailureHistory {
  const { since, sinceTime, reported } = before ?? {
    since: monotonic,
    sinceTime: time,
    reported: undefined,
  };
  const isDue = failure.kind !== "failed" || monotonic >= since + patienceMs;
  const isKept =
    reported !== undefined && monotonic < reported.at + reportedForMs(reported.failure, failure);
  if (isKept) return { since, sinceTime, reported };
  return isDue
    ? { since, sinceTime, reported: { failure: { ...failure, since: sinceTime }, at: monotonic } }
    : { since, sinceTime };
}

function reportedForMs(reported: Failure, failure: ObservedFailure): number {
  if (reported.reason !== failure.reason) return minimumReportMs.otherReason;
  return reported.message === failure.message ? Infinity : minimumReportMs.otherWords;
}
