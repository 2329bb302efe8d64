import { BoundedWaits } from "./bounded-waits.ts";
import type { Timers } from "./clock.ts";

/** What {@link UnreadAnswers} is made of. */
interface UnreadAnswersOptions {
  readonly clock: Timers;
  /** How many there may be, and for how long. */
  readonly most: number;
  readonly mostMs: number;
}

/**
 * Answers that were ended and that their clients have not read. A client that reads takes its
 * answer within a round trip; the answers of clients that do not are aborted: of too many, the
 * oldest of the owner that has the most.
 */
export class UnreadAnswers {
  readonly #options: UnreadAnswersOptions;
  readonly #waits: BoundedWaits;

  constructor(options: UnreadAnswersOptions) {
    this.#options = options;
    this.#waits = new BoundedWaits(options.most);
  }

  /** Follows an answer to this owner until the returned function is called. */
  add(owner: string, abort: () => void): () => void {
    const { clock, mostMs } = this.#options;
    const cancel = clock.wakeAfter(mostMs, () => {
      end();
      abort();
    });
    const end = this.#waits.begin(owner, () => {
      cancel();
      abort();
    });
    return () => {
      cancel();
      end();
    };
  }
}
