import type { Cancel, Clock } from "./clock.ts";

/** What {@link UnreadAnswers} is made of. */
export interface UnreadAnswersOptions {
  readonly clock: Pick<Clock, "wakeAfter">;
  /** How many there may be, and for how long. */
  readonly most: number;
  readonly mostMs: number;
}

/**
 * Answers that were ended and that their clients have not read. A client that reads takes its answer
 * within a round trip; the answers of clients that do not are aborted, the oldest first.
 */
export class UnreadAnswers {
  readonly #options: UnreadAnswersOptions;
  readonly #unread = new Map<() => void, Cancel>();

  constructor(options: UnreadAnswersOptions) {
    this.#options = options;
  }

  /** Follows an answer until the returned function is called. */
  add(abort: () => void): () => void {
    const { clock, most, mostMs } = this.#options;
    const end = (): void => {
      this.#remove(end);
      abort();
    };
    this.#unread.set(end, clock.wakeAfter(mostMs, end));
    const [oldest] = this.#unread.keys();
    if (this.#unread.size > most) oldest?.();
    return () => this.#remove(end);
  }

  #remove(end: () => void): void {
    this.#unread.get(end)?.();
    this.#unread.delete(end);
  }
}
