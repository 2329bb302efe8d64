/** A list is repeated without need after this many times its duration. */
const relistRestFactor = 1_000;
/** The longest time until a list is repeated, in milliseconds. */
const longestWithoutListMs = 3_600_000;

/**
 * Decides whether a watch that ended without event and bookmark is followed by a list, which
 * corrects any store, or only by a request for the resourceVersion of the collection. The API
 * server sends no bookmark if nothing changed, so that a list each time would read every object of
 * an idle cluster twice a minute. Lists that repeat take at most a thousandth of the time, and an
 * hour passes at most without one.
 */
export class RelistPace {
  #dueAt = -Infinity;

  /** Records a list; monotonic milliseconds. */
  listed(startedAt: number, endedAt: number): void {
    this.#dueAt =
      endedAt + Math.min((endedAt - startedAt) * relistRestFactor, longestWithoutListMs);
  }

  isDue(now: number): boolean {
    return now >= this.#dueAt;
  }
}
