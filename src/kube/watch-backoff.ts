/** How a try to follow the API server ended; durations in milliseconds. */
export interface WatchEnd {
  /**
   * Whether a watch was opened and delivered events or lasted a while, so that the next one starts
   * at once.
   */
  readonly isProgress: boolean;
  /** Whether the API server has forgotten where the watch was. */
  readonly isForgotten: boolean;
  /** Longest pause before jitter. */
  readonly longestMs: number;
  /** Retry-After of the API server. */
  readonly leastMs: number;
  /** Monotonic. */
  readonly now: number;
}

const firstMs = 800;
/**
 * A watch that lived this long was no answer of an API server that turns watches away (client-go,
 * Reflector).
 */
export const shortWatchMs = 1_000;
/** A watch that was forgotten is followed by a list at once, but not over and over. */
const forgottenMs = 5_000;

/**
 * Says how long to wait before the next try: not at all after progress, else longer each time, with
 * jitter of half.
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
   * Resets to short pauses: a restarted API server refuses some requests until its caches are
   * filled.
   */
  restart(): void {
    this.#backoffMs = firstMs;
  }

  /** Milliseconds until the next try. */
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
