import type { Metadata } from "../api/object.ts";
import { requesterAnnotationsOf } from "../api/requester.ts";

/**
 * Counts objects by requester. An index of requester names would take more memory for each object.
 */
export class RequesterCounts {
  readonly #counts = new Map<string, number>();

  /** Records a change of one object. */
  note(before: Metadata | undefined, after: Metadata | undefined): void {
    this.#add(before, -1);
    this.#add(after, 1);
  }

  /** Number of objects of a requester. */
  of(requester: string): number {
    return this.#counts.get(requester) ?? 0;
  }

  #add(metadata: Metadata | undefined, difference: 1 | -1): void {
    const requester = metadata && requesterAnnotationsOf(metadata)?.name;
    if (requester === undefined) return;
    const count = this.of(requester) + difference;
    if (count === 0) this.#counts.delete(requester);
    else this.#counts.set(requester, count);
  }
}
