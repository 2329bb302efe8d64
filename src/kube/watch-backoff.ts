/** How an attempt to list and watch ended; durations in milliseconds. */
interface WatchEnd {
  /**
   * Whether a watch was opened and delivered events or lasted at least {@link shortWatchMs}, so
   * that the next one starts at once.
   */
  readonly isProgress: boolean;
  /** Whether the watch failed with `Gone`, because its resourceVersion is too old. */
  readonly isForgotten: boolean;
  /** Maximum pause before jitter. */
  readonly longestMs: number;
  /** Retry-After of the API server. */
  readonly leastMs: number;
  /** Monotonic time. */
  readonly now: number;
}

const firstMs = 800;
/** A watch without events that ends earlier counts as a failure (client-go, Reflector). */
export const shortWatchMs = 1_000;
/** A watch that failed with `Gone` is followed by a list at once, but not more often than this. */
const forgottenMs = 5_000;

/**
 * Computes the pause before the next attempt: none after progress, else an exponential back-off
 * with jitter of ±50%.
 */
export class WatchBackoff {
  readonly #random: () => number;
  #backoffMs = firstMs;
  #forgottenAt = -Infinity;

  /** `random` is in [0, 1). */
  constructor(random: () => number) {
    this.#random = random;
  }

  /**
   * Resets the back-off: a restarted API server rejects some requests until its caches are filled.
   */
  restart(): void {
    this.#backoffMs = firstMs;
  }

  /** Milliseconds until the next attempt. */
  pauseMs({ isProgress, isForgotten, longestMs, leastMs, now }: WatchEnd): number {
    const isListedAtOnce = isForgotten && now - this.#forgottenAt >= forgottenMs;
    if (isListedAtOnce) this.#forgottenAt = now;
    if (isProgress || isListedAtOnce) this.restart();
    if (isForgotten ? isListedAtOnce : isProgress) return 0;
    const pauseMs = Math.max(
      Math.min(this.#backoffMs, longestMs) * (0.5 + this.#random()),
      leastMs,
    );
    this.#backoffMs = Math.min(this.#backoffMs * 2, longestMs);
    return pauseMs;
  }
}
