import type { Clock } from "../runtime/clock.ts";
import { isKubeError } from "./errors.ts";

/** Whether the requests of an informer fail because the API server is away or overloaded. */
export class Outage {
  readonly #clock: Pick<Clock, "monotonic">;
  /** Whether a request has failed since the last response. */
  #isCutOff = false;
  /** When the first request was sent that did not reach the API server. */
  #awaySince: number | undefined;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Records a failure of a request that was sent at `sentAt`, undefined if a watch was open. */
  failed(error: unknown, sentAt: number | undefined): void {
    const isUnreachable = isKubeError(error, "Network", "ServerError");
    this.#isCutOff ||= isUnreachable || isKubeError(error, "TooManyRequests");
    if (isUnreachable) this.#awaySince ??= sentAt;
  }

  /**
   * Records a response. Returns for how many milliseconds the API server was away, 0 if it was only
   * overloaded; undefined without a failure.
   */
  answered(): number | undefined {
    const [isCutOff, since] = [this.#isCutOff, this.#awaySince];
    [this.#isCutOff, this.#awaySince] = [false, undefined];
    if (!isCutOff) return undefined;
    return since === undefined ? 0 : this.#clock.monotonic() - since;
  }
}
