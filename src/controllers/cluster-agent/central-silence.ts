import { annotations } from "../../api/names.ts";
import type { LeaseNotes } from "../../kube/leader-election.ts";
import type { PassiveClock } from "../../runtime/clock.ts";

/**
 * For how long the central cluster was not heard. It is counted in time for which an agent runs,
 * and kept in an annotation of the agent's Lease: a restart does not begin anew, and a clock that
 * jumps changes nothing.
 */
export class CentralSilence {
  readonly #clock: PassiveClock;
  readonly #heardAt: () => number | undefined;
  /** What another leader has counted, and since when this process counts. */
  #former: { readonly ms: number; readonly at: number };
  #isAdopted = false;

  /** `heardAt` is when the central cluster was heard last, in monotonic milliseconds. */
  constructor(clock: PassiveClock, heardAt: () => number | undefined) {
    [this.#clock, this.#heardAt] = [clock, heardAt];
    this.#former = { ms: 0, at: clock.monotonic() };
  }

  /** Milliseconds since the central cluster was heard. */
  get ms(): number {
    const heardAt = this.#heardAt();
    const now = this.#clock.monotonic();
    return heardAt === undefined ? this.#former.ms + now - this.#former.at : now - heardAt;
  }

  /** The annotations of the next write of the Lease; the first one adopts what is in it. */
  readonly notes: LeaseNotes = (observed) => {
    const { [annotations.unheardSeconds]: text = "", ...others } = observed;
    if (!this.#isAdopted) {
      const seconds = /^\d{1,10}$/.test(text) ? Number(text) : 0;
      this.#former = { ms: seconds * 1000, at: this.#clock.monotonic() };
      this.#isAdopted = true;
    }
    const seconds = Math.floor(this.ms / 1000);
    return seconds < leastSeconds
      ? others
      : { ...others, [annotations.unheardSeconds]: `${seconds}` };
  };
}

/** A central cluster that answers is heard at least every 40 s. */
const leastSeconds = 60;
