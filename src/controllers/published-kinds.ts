import type { WatchedKind } from "./kinds/watched-kind.ts";

/** Changes of the kinds of which every replica publishes a list. */
export interface Published {
  /** Whether all objects of these kinds were listed. */
  isListed(): boolean;
  /** Registers a listener for changes, and for the end of the first list. */
  onChange(listener: () => void): void;
}

type Publishing = Pick<WatchedKind<unknown>, "isPublished">;

/** Announces the changes of published kinds to listeners. */
export class PublishedKinds implements Published {
  readonly #listeners: (() => void)[] = [];
  #unlisted = 0;

  /** Adds a kind, whose objects are listed when `synced` resolves. */
  add({ isPublished = false }: Publishing, synced: Promise<void>): void {
    if (!isPublished) return;
    this.#unlisted += 1;
    void synced.then(() => {
      this.#unlisted -= 1;
      this.#announce();
    });
  }

  /** Returns the handler of a kind's changes that also announces them. */
  announcing<T>({ isPublished = false }: Publishing, onChange: (changed: T) => void) {
    if (!isPublished) return onChange;
    return (changed: T): void => {
      onChange(changed);
      this.#announce();
    };
  }

  isListed(): boolean {
    return this.#unlisted === 0;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #announce(): void {
    for (const listener of this.#listeners) listener();
  }
}
