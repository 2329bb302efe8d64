import { type Pace, patienceMs } from "../domain/gateway/body-pace.ts";
import type { Cancel, Clock } from "../runtime/clock.ts";

/** What following a client needs. */
export interface ClientPaceDeps {
  readonly clock: Pick<Clock, "monotonic" | "wakeAfter">;
  /** Called when the client was too slow. */
  readonly onLate: () => void;
}

/**
 * Measures how long the gateway waits for a client, all in all: a client that moves a byte every few
 * seconds would otherwise hold what others wait for.
 */
export class ClientPace {
  readonly #pace: Pace;
  readonly #deps: ClientPaceDeps;
  #bytes = 0;
  #waitedMs = 0;
  #waitsSince: number | undefined;
  #cancel: Cancel = () => {};

  constructor(pace: Pace, deps: ClientPaceDeps) {
    [this.#pace, this.#deps] = [pace, deps];
  }

  /** The client moved these bytes. */
  moved(bytes: number): void {
    this.#bytes += bytes;
  }

  /** The gateway waits for the client from now on. */
  wait(): void {
    if (this.#waitsSince !== undefined) return;
    const { clock, onLate } = this.#deps;
    this.#waitsSince = clock.monotonic();
    const passed = { bytes: this.#bytes, waitedMs: this.#waitedMs };
    this.#cancel = clock.wakeAfter(patienceMs(this.#pace, passed), onLate);
  }

  /** The gateway does not wait for the client any more. */
  stop(): void {
    if (this.#waitsSince === undefined) return;
    this.#waitedMs += this.#deps.clock.monotonic() - this.#waitsSince;
    this.#waitsSince = undefined;
    this.#cancel();
  }
}
