import type { ReasonAndMessage } from "../../api/report.ts";

/**
 * A failed attempt and its kind. The message contains no secret, and often differs between attempts
 * (resourceVersions, counts, times).
 */
export interface ObservedFailure extends ReasonAndMessage {
  /**
   * `refused`: requires a change by a user and is reported at once. `too-large`: the same, the API
   * server cannot store the object. `failed`: reported once it has repeated for {@link
   * reportAfterMs}.
   */
  readonly kind: "refused" | "too-large" | "failed";
}

/** A failure in the status of an object or of its source. */
export interface ReportedFailure extends ObservedFailure {
  /** When the first of the consecutive failures occurred, in milliseconds since the epoch. */
  readonly since: number;
}

/**
 * Consecutive failed attempts; instants are monotonic milliseconds, `sinceTime` is in milliseconds
 * since the epoch.
 */
export interface FailureHistory {
  readonly since: number;
  readonly sinceTime: number;
  /** The reported failure; absent while it may be temporary. */
  readonly reported?: { readonly failure: ReportedFailure; readonly at: number };
  /** Until when a success does not end it, because what was written did not stay before. */
  readonly contestedUntil?: number;
}

/** The clocks: monotonic milliseconds, and milliseconds since the epoch. */
interface Instant {
  readonly monotonic: number;
  readonly time: number;
}

/** How long a failure repeats before it is reported. */
export const reportAfterMs = 30_000;

/**
 * Minimum time before another failure replaces the reported one: with another reason, or with
 * another message.
 */
const minimumReportMs = { otherReason: 60_000, otherWords: 600_000 } as const;

/**
 * Records a failed attempt. The reported failure changes rarely: most messages vary between
 * attempts, and every change costs a status write.
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
  const isDue = failure.kind !== "failed" || monotonic >= since + reportAfterMs;
  const isKept =
    reported !== undefined && monotonic < reported.at + reportedForMs(reported.failure, failure);
  if (isKept) return { since, sinceTime, reported };
  return isDue
    ? { since, sinceTime, reported: { failure: { ...failure, since: sinceTime }, at: monotonic } }
    : { since, sinceTime };
}

/** After so long without a success, a rejected write is tried less often, in milliseconds. */
const lastingMs = 600_000;
/** With the jitter of the queue, at most 5 minutes. */
const lastingPauseMs = 250_000;

/**
 * How long a rejected write waits at least before it is tried again, in milliseconds; undefined for
 * the first ten minutes, in which it is tried once a minute.
 */
export function leastPauseMs({ since }: FailureHistory, monotonic: number): number | undefined {
  return monotonic - since >= lastingMs ? lastingPauseMs : undefined;
}

function reportedForMs(reported: ReasonAndMessage, failure: ObservedFailure): number {
  if (reported.reason !== failure.reason) return minimumReportMs.otherReason;
  return reported.message === failure.message ? Infinity : minimumReportMs.otherWords;
}
