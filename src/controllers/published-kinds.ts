import { areFresh, type WatchState } from "../kube/informer/cache-freshness.ts";
import type { Clock } from "../runtime/clock.ts";

/** Changes of the kinds of which every replica publishes a list. */
export interface Published {
  /** Whether all objects of these kinds were listed. */
  isListed(): boolean;
  /** Whether the API server has lately shown that their stores are current. */
  readonly isFresh: () => boolean;
  /** Registers a listener for changes, and for the end of the first list. */
  onChange(listener: () => void): void;
}

interface PublishedInformer {
  readonly synced: Promise<void>;
  readonly watchState: WatchState;
}

/** Announces the changes of published kinds to listeners. */
export class PublishedKinds implements Published {
  readonly #clock: Clock;
  readonly #informers: PublishedInformer[] = [];
  readonly #listeners: (() => void)[] = [];
  #unlisted = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a kind, whose objects are listed when `synced` resolves. */
  add(informer: PublishedInformer): void {
    this.#informers.push(informer);
    this.#unlisted += 1;
    void informer.synced.then(() => {
      this.#unlisted -= 1;
      this.announce();
    });
  }

  isListed(): boolean {
    return this.#unlisted === 0;
  }

  readonly isFresh = (): boolean => areFresh(this.#informers, this.#clock.monotonic());

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Tells the listeners of a change, in the order in which they registered. */
  announce(): void {
    for (const listener of this.#listeners) listener();
  }
}
