/** Durations of the watches of an informer. */
export interface WatchTimes {
  /**
   * Range from which the informer picks `timeoutSeconds`, after which the API server ends a watch.
   */
  readonly watchSeconds: { readonly least: number; readonly most: number };
  /** Maximum time until the API server opens a watch. */
  readonly openMs: number;
  /** Maximum pause after a failure, before jitter of up to 50%. */
  readonly longestBackoffMs: number;
  /** Maximum pause between requests for an optional resource that is not served, before jitter. */
  readonly longestAbsenceMs: number;
  /**
   * How long a store counts as fresh after a watch was opened, whatever the state of the
   * connection.
   */
  readonly freshForMs: number;
}

/** Durations for controllers: a connection that died silently is detected within 45 s. */
export const relaxedWatchTimes: WatchTimes = {
  watchSeconds: { least: 20, most: 35 },
  openMs: 10_000,
  longestBackoffMs: 5_000,
  longestAbsenceMs: 25_000,
  freshForMs: 60_000,
};

/**
 * Durations for authentication and authorization by the store: a watch is reopened well within
 * `freshForMs`, and after a failure at least once a second.
 */
export const provingWatchTimes: WatchTimes = {
  watchSeconds: { least: 20, most: 20 },
  openMs: 5_000,
  longestBackoffMs: 650,
  longestAbsenceMs: 13_000,
  freshForMs: 30_000,
};

/** Picks the `timeoutSeconds` of a watch; `random` returns numbers in [0, 1). */
export function pickedSeconds(
  { watchSeconds: { least, most } }: WatchTimes,
  random: () => number,
): number {
  return least + Math.floor(random() * (most - least));
}

/** A watch that is open this long after its `timeoutSeconds` has lost its connection. */
export const watchGraceMs = 5_000;
