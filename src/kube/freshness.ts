import type { Resource } from "../api/resources.ts";
import type { Clock } from "../runtime/clock.ts";
import { sleep } from "../runtime/sleep.ts";

/** How an informer keeps its watches. */
export interface WatchTimes {
  /**
   * Bounds of `timeoutSeconds`, after which the API server ends a watch; the informer picks a
   * number between them.
   */
  readonly watchSeconds: { readonly least: number; readonly most: number };
  /** Longest wait for the API server to begin to answer a watch. */
  readonly openMs: number;
  /** Longest pause after a failure, before jitter of at most half of it. */
  readonly longestBackoffMs: number;
  /**
   * Longest pause before an optional resource that is not served is looked for again, before
   * jitter.
   */
  readonly longestAbsenceMs: number;
  /**
   * An API server that began to answer a watch knew everything then; that holds for so long,
   * whatever the connection says.
   */
  readonly freshForMs: number;
}

/**
 * For who repairs what is written: a connection that died without a word is found out within 45 s.
 */
export const relaxedWatchTimes: WatchTimes = {
  watchSeconds: { least: 20, most: 35 },
  openMs: 10_000,
  longestBackoffMs: 5_000,
  longestAbsenceMs: 25_000,
  freshForMs: 60_000,
};

/**
 * For who decides by what the store holds: a watch is opened anew well within `freshForMs`, and
 * after a failure tried again at least once a second.
 */
export const provingWatchTimes: WatchTimes = {
  watchSeconds: { least: 20, most: 20 },
  openMs: 5_000,
  longestBackoffMs: 650,
  longestAbsenceMs: 13_000,
  freshForMs: 30_000,
};

/** A watch that the API server does not end in time has lost its connection. */
export const watchGraceMs = 5_000;

/** The watch state of an informer; milliseconds of a monotonic clock. */
export interface WatchState {
  readonly isSynced: boolean;
  /** When the API server last began to answer a watch; undefined: never. */
  readonly openedAt: number | undefined;
  /** How long an answer counts, in milliseconds. */
  readonly freshForMs: number;
}

/** Whether the store of an informer is fresh. */
export function isFresh({ isSynced, openedAt, freshForMs }: WatchState, now: number): boolean {
  return isSynced && openedAt !== undefined && now - openedAt < freshForMs;
}

/** Why the store of this kind is not fresh; undefined when it is. */
export function staleReason(plural: string, state: WatchState, now: number): string | undefined {
  if (isFresh(state, now)) return undefined;
  if (!state.isSynced) return `${plural} not synced yet`;
  const since =
    state.openedAt === undefined ? "" : ` for ${Math.floor((now - state.openedAt) / 1000)} s`;
  return `${plural}: no watch response from the API server${since}; check the connection`;
}

const pollMs = 200;

/** Resolves when all these stores are fresh, or the signal aborts. */
export async function untilFresh(
  informers: readonly { readonly watchState: WatchState }[],
  {
    clock,
    signal,
  }: { readonly clock: Pick<Clock, "monotonic" | "wakeAfter">; readonly signal: AbortSignal },
): Promise<void> {
  const areProven = (): boolean =>
    informers.every(({ watchState }) => isFresh(watchState, clock.monotonic()));
  while (!areProven() && !signal.aborted) await sleep(pollMs, { clock, signal });
}

/**
 * When the API server last began to answer a watch of a kind, in seconds since the epoch; 0: never.
 */
export interface WatchReading {
  readonly resource: string;
  readonly openedAt: number;
}

/** One reading for each kind: that of the informer with the oldest watch. */
export function watchReadings(
  informers: readonly { readonly resource: Resource; readonly watchState: WatchState }[],
  clock: Pick<Clock, "now" | "monotonic">,
): readonly WatchReading[] {
  const [now, monotonic] = [clock.now(), clock.monotonic()];
  const readings = new Map<string, number>();
  for (const { resource, watchState } of informers) {
    const { openedAt } = watchState;
    const reading = openedAt === undefined ? 0 : (now - (monotonic - openedAt)) / 1000;
    readings.set(resource.plural, Math.min(reading, readings.get(resource.plural) ?? Infinity));
  }
  return [...readings].map(([resource, openedAt]) => ({ resource, openedAt }));
}
