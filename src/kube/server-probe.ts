import type { Clock } from "../runtime/clock.ts";
import { sleep } from "../runtime/sleep.ts";
import { isKubeError } from "./errors.ts";
import type { Transport } from "./transport.ts";

/** Dependencies of {@link ServerProbe}. */
interface ServerProbeDeps {
  readonly transport: Pick<Transport, "request">;
  readonly clock: Pick<Clock, "monotonic" | "wakeAfter">;
}

const everyMs = 10_000;
const retryMs = 1_000;
/** As long as the watches of other processes may be silent. */
const longestSilenceMs = 30_000;

/**
 * Asks the API server for its version, so that a process that watches nothing can say in /readyz
 * that it is cut off.
 */
export class ServerProbe {
  readonly #deps: ServerProbeDeps;
  #answeredAt: number | undefined;

  constructor(deps: ServerProbeDeps) {
    this.#deps = deps;
  }

  /** Why the API server counts as unreachable, in one sentence; empty if it does not. */
  problems(): readonly string[] {
    if (this.#answeredAt === undefined) return ["the API server has not answered yet"];
    const silentMs = this.#deps.clock.monotonic() - this.#answeredAt;
    return silentMs < longestSilenceMs
      ? []
      : [
          `no response from the API server for ${Math.floor(silentMs / 1000)} s; check the connection`,
        ];
  }

  /** Asks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!signal.aborted) {
      const isAnswered = await this.#ask();
      if (isAnswered) this.#answeredAt = clock.monotonic();
      await sleep(isAnswered ? everyMs : retryMs, { clock, signal });
    }
  }

  /** Any answer counts, such as 403, except that of a server that cannot serve. */
  async #ask(): Promise<boolean> {
    try {
      const { status } = await this.#deps.transport.request({ method: "GET", path: "/version" });
      return status < 500;
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return false;
    }
  }
}
