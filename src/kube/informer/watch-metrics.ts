import type { Resource } from "../../api/resources.ts";
import type { PassiveClock } from "../../runtime/clock.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import type { WatchState } from "./cache-freshness.ts";

/** The watches and the cache of a resource; `openedAt` in seconds since the epoch, 0 if never. */
export interface WatchReading {
  readonly resource: string;
  /** When the API server last opened a watch. */
  readonly openedAt: number;
  readonly objects: number;
}

/** One reading for each resource: the oldest watch and all objects of its informers. */
export function watchReadings(
  informers: readonly {
    readonly resource: Resource;
    readonly watchState: WatchState;
    readonly store: { readonly size: number };
  }[],
  clock: PassiveClock,
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

/** Codes of interruptions whose series exist from the start; the others are rare. */
const firstInterruptions = ["Network", "ServerError", "TooManyRequests", "Forbidden", "Gone"];

/** Shows watches and caches at each scrape. */
export function exposeWatches(read: () => readonly WatchReading[], metrics: Metrics): void {
  for (const { resource } of read())
    for (const code of firstInterruptions)
      metrics.counter("latchkey_watch_interruptions_total", { resource, code });
  metrics.onScrape("watches", () => {
    for (const { resource, openedAt, objects } of read()) {
      metrics.gauge("latchkey_watch_opened_timestamp_seconds", { resource }).set(openedAt);
      metrics.gauge("latchkey_cache_objects", { resource }).set(objects);
    }
  });
}

/** Returns a function that counts a list or watch that failed. */
export function interruptionCounter(metrics: Metrics): (resource: string, code: string) => void {
  return (resource, code) =>
    metrics.counter("latchkey_watch_interruptions_total", { resource, code }).inc();
}
