/** How a try to follow the API server ended; durations in milliseconds. */
export interface WatchEnd {
  /**
   * Whether a watch was answered, and told something or lived for a while: what follows begins at
   * once.
   */
  readonly isProgress: boolean;
  /** Whether the API server has forgotten where the watch was. */
  readonly isForgotten: boolean;
  /** Longest pause before jitter. */
  readonly longestMs: number;
  /** What the API server asks for (Retry-After). */
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
   * Begins anew with short pauses: an API server that is back refuses some requests for a moment,
   * until its caches are filled.
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
