import { hasFinalizer } from "../domain/plan/finalizer.ts";
import { parseMetadata } from "../api/parse.ts";

/** So many are remembered: enough for what waits for its grant, little memory. */
const most = 10_000;

/**
 * Objects that this leader wrote itself with the cleanup finalizer on them: none of them goes
 * before this very leader lets it go, so that nobody has to be asked whether it is there. (Who
 * removes the finalizer by force causes a watch event.)
 */
export class FinalizedObjects {
  readonly #uids = new Set<string>();

  /** Takes in the API server's answer to a write of ours. */
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
