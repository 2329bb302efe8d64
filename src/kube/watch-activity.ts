import type { Clock } from "../runtime/clock.ts";
import { shortWatchMs } from "./watch-backoff.ts";

/** What an attempt to list and watch has achieved so far. */
interface Attempt {
  /** Whether a watch was opened. */
  readonly hasOpened: boolean;
  /** Whether events arrived, or the watch was open for long enough to reset the back-off. */
  readonly isProgress: boolean;
}

/** When the watches of an informer were opened and delivered events; monotonic milliseconds. */
export class WatchActivity {
  readonly #clock: Pick<Clock, "monotonic">;
  #opens = 0;
  #batches = 0;
  #openedAt = -Infinity;
  #heardAt = -Infinity;
  #isOpen = false;

  constructor(clock: Pick<Clock, "monotonic">) {
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
