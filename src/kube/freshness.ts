import type { Resource } from "../api/resources.ts";
import type { Clock } from "../runtime/clock.ts";
import type { WatchReading } from "../runtime/metrics.ts";
import { sleep } from "../runtime/sleep.ts";

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
  { watchSeconds: { least, most } }: Pick<WatchTimes, "watchSeconds">,
  random: () => number,
): number {
  return least + Math.floor(random() * (most - least));
}

/** A watch that is open this long after its `timeoutSeconds` has lost its connection. */
export const watchGraceMs = 5_000;

/** The watch state of an informer; milliseconds of a monotonic clock. */
export interface WatchState {
  readonly isSynced: boolean;
  /** When the API server opened the last watch that proves the store; undefined if never. */
  readonly openedAt: number | undefined;
  /** How long the store is fresh after a watch was opened, in milliseconds. */
  readonly freshForMs: number;
}

/** Whether the store of an informer is fresh. */
export function isFresh({ isSynced, openedAt, freshForMs }: WatchState, now: number): boolean {
  return isSynced && openedAt !== undefined && now - openedAt < freshForMs;
}

/** Why the store of this resource is not fresh; undefined if it is. */
export function staleReason(plural: string, state: WatchState, now: number): string | undefined {
  if (isFresh(state, now)) return undefined;
  if (!state.isSynced) return `${plural} not synced yet`;
  const since =
    state.openedAt === undefined ? "" : ` for ${Math.floor((now - state.openedAt) / 1000)} s`;
  return `${plural}: no watch response from the API server${since}; check the connection`;
}

/** The reasons of several informers, as {@link staleReason} gives each of them. */
export function staleReasons(
  informers: readonly {
    readonly resource: { readonly plural: string };
    readonly watchState: WatchState;
  }[],
  now: number,
): readonly string[] {
  return informers.flatMap(
    ({ resource, watchState }) => staleReason(resource.plural, watchState, now) ?? [],
  );
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

/** One reading for each resource: the oldest watch and all objects of its informers. */
export function watchReadings(
  informers: readonly {
    readonly resource: Resource;
    readonly watchState: WatchState;
    readonly store: { readonly size: number };
  }[],
  clock: Pick<Clock, "now" | "monotonic">,
): readonly WatchReading[] {
  const [now, monotonic] = [clock.now(), clock.monotonic()];
  const readings = new Map<string, WatchReading>();
  for (const { resource, watchState, store } of informers) {
    const { openedAt } = watchState;
    const seconds = openedAt === undefined ? 0 : (now - (monotonic - openedAt)) / 1000;
    const other = readings.get(resource.plural);
    readings.set(resource.plural, {
      resource: resource.plural,
      openedAt: Math.min(seconds, other?.openedAt ?? Infinity),
      objects: store.size + (other?.objects ?? 0),
    });
  }
  return [...readings.values()];
}
