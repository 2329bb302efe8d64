import type { Clock } from "./clock.ts";
import { ItemsByOwner } from "./items-by-owner.ts";

/** What {@link UnreadAnswers} is made of. */
interface UnreadAnswersOptions {
  readonly clock: Pick<Clock, "wakeAfter">;
  /** How many there may be, and for how long. */
  readonly most: number;
  readonly mostMs: number;
}

/**
 * Answers that were ended and that their clients have not read. A client that reads takes its answer
 * within a round trip; the answers of clients that do not are aborted: of too many, the oldest of the
 * owner that has the most.
 */
export class UnreadAnswers {
  readonly #options: UnreadAnswersOptions;
  readonly #unread = new ItemsByOwner<() => void>();

  constructor(options: UnreadAnswersOptions) {
    this.#options = options;
  }

  /** Follows an answer to this owner until the returned function is called. */
  add(owner: string, abort: () => void): () => void {
    const { clock, most, mostMs } = this.#options;
    const end = (): void => {
      remove();
      abort();
    };
    const cancel = clock.wakeAfter(mostMs, end);
    const remove = (): void => {
      if (this.#unread.remove(owner, end)) cancel();
    };
    this.#unread.add(owner, end);
    if (this.#unread.size > most) {
      const [oldest] = this.#unread.ofLargestOwner();
      oldest?.();
    }
    return remove;
  }
}
