import type { Clock } from "../../runtime/clock.ts";

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
const shortWatchMs = 1_000;
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

/** What an attempt to list and watch has achieved so far. */
interface Attempt {
  /** Whether a watch was opened. */
  readonly hasOpened: boolean;
  /** Whether events arrived, or the watch was open for long enough to reset the back-off. */
  readonly isProgress: boolean;
}

/** When the watches of an informer were opened and delivered events; monotonic milliseconds. */
export class WatchActivity {
  readonly #clock: Clock;
  #opens = 0;
  #batches = 0;
  #openedAt = -Infinity;
  #heardAt = -Infinity;
  #isOpen = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a watch is open. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** When the last events arrived. */
  get heardAt(): number {
    return this.#heardAt;
  }

  opened(): void {
    [this.#isOpen, this.#openedAt] = [true, this.#clock.monotonic()];
    this.#opens += 1;
  }

  /** Records a batch of events. */
  heard(): void {
    this.#heardAt = this.#clock.monotonic();
    this.#batches += 1;
  }

  ended(): void {
    this.#isOpen = false;
  }

  /** Begins an attempt; the returned function tells what it has achieved. */
  begin(): () => Attempt {
    const [opens, batches] = [this.#opens, this.#batches];
    return () => {
      const hasOpened = this.#opens > opens;
      const livedMs = hasOpened ? this.#clock.monotonic() - this.#openedAt : 0;
      return { hasOpened, isProgress: this.#batches > batches || livedMs >= shortWatchMs };
    };
  }
}

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
