import { hasFinalizer } from "../domain/plan/finalizer.ts";
import { parseMetadata } from "../api/parse.ts";

/** Maximum number of uids: enough for the objects that wait for their grant, at little memory. */
const most = 10_000;

/**
 * Objects with the cleanup finalizer, as written by this leader. They exist until this leader
 * removes the finalizer, so the API server need not be asked whether they do. (If a user removes
 * the finalizer, a watch event follows.)
 */
export class FinalizedObjects {
  readonly #uids = new Set<string>();

  /** Records the response to a write of this process. */
  note(answer: unknown): void {
    const metadata = parseMetadata(answer);
    this.#uids.delete(metadata.uid);
    if (!hasFinalizer(metadata)) return;
    this.#uids.add(metadata.uid);
    if (this.#uids.size > most) this.#forgetOldest();
  }

  has(uid: string): boolean {
    return this.#uids.has(uid);
  }

  #forgetOldest(): void {
    const [eldest] = this.#uids;
    if (eldest !== undefined) this.#uids.delete(eldest);
  }
}
