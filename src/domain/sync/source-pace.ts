/** A source that changes more often in this time is followed slowly. */
export const mostSourceChanges = { count: 20, withinMs: 60_000 } as const;

/** The pause between two readings of such a source: doubled each time, up to the maximum. */
const pauses = { firstMs: 5_000, mostMs: 60_000 } as const;

/** What is known of the changes of a Secret that SharedSecrets follow; monotonic milliseconds. */
export interface SourcePace {
  /** The last times at which it changed, one more than {@link mostSourceChanges}, in order. */
  readonly changes: readonly number[];
  readonly readAt: number;
  /** The pause before the next reading; 0 for a source that changes rarely. */
  readonly pauseMs: number;
}

/** The pace of a Secret of which nothing is known. */
export const newSourcePace: SourcePace = { changes: [], readAt: -Infinity, pauseMs: 0 };

/** Remembers a change. */
export function sourceChanged(pace: SourcePace, now: number): SourcePace {
  return { ...pace, changes: [...pace.changes, now].slice(-mostSourceChanges.count - 1) };
}

/** When the Secret may be read next. */
export function nextReading({ readAt, pauseMs }: SourcePace): number {
  return readAt + pauseMs;
}

/** Remembers a reading: the pause after it depends on the changes before it. */
export function sourceRead(pace: SourcePace, now: number): SourcePace {
  const { count, withinMs } = mostSourceChanges;
  const recent = pace.changes.filter((at) => now - at < withinMs);
  const isOften = recent.length > count;
  const longer = Math.min(Math.max(pauses.firstMs, pace.pauseMs * 2), pauses.mostMs);
  return { changes: recent, readAt: now, pauseMs: isOften ? longer : 0 };
}

/** Whether a Secret is read less often than it changes. */
export function changesOften({ pauseMs }: SourcePace): boolean {
  return pauseMs > 0;
}
