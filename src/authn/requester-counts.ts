import type { Metadata } from "../api/object.ts";
import { requesterAnnotationsOf } from "../api/requester.ts";

/**
 * How many objects each requester has. An index of their names would cost more memory than this for
 * each object.
 */
export class RequesterCounts {
  readonly #counts = new Map<string, number>();

  /** Takes a change of one object in. */
  note(before: Metadata | undefined, after: Metadata | undefined): void {
    this.#add(before, -1);
    this.#add(after, 1);
  }

  /** The count of the requester of this name. */
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
