import { stringAt } from "../../api/parse.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { isKubeError } from "./kube-error.ts";
import { bodyOf } from "./response-body.ts";
import type { RoundTripper } from "./transport.ts";

/**
 * Reads `gitVersion` of the API server, such as `v1.36.2`; empty if the response has none. Rejects
 * with a KubeError.
 */
export async function serverVersion(transport: RoundTripper): Promise<string> {
  const call = { method: "GET", path: "/version" } as const;
  return stringAt(bodyOf(call, await transport.request(call)), "gitVersion") ?? "";
}

/** The minor version of a `gitVersion` of Kubernetes 1; undefined for any other text. */
export function minorOf(gitVersion: string): number | undefined {
  const minor = /^v1\.(\d+)/.exec(gitVersion)?.[1];
  return minor === undefined ? undefined : Number(minor);
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
  readonly #transport: RoundTripper;
  readonly #clock: Clock;
  #answeredAt: number | undefined;

  constructor(transport: RoundTripper, clock: Clock) {
    this.#transport = transport;
    this.#clock = clock;
  }

  /** Why the API server counts as unreachable, in one sentence; empty if it does not. */
  problems(): readonly string[] {
    if (this.#answeredAt === undefined) return ["the API server has not answered yet"];
    const silentMs = this.#clock.monotonic() - this.#answeredAt;
    return silentMs < longestSilenceMs
      ? []
      : [
          `no response from the API server for ${Math.floor(silentMs / 1000)} s; ` +
            "check the connection",
        ];
  }

  /** Asks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isAnswered = await this.#ask();
      if (isAnswered) this.#answeredAt = this.#clock.monotonic();
      await sleep(isAnswered ? everyMs : retryMs, { clock: this.#clock, signal });
    }
  }

  /** Any answer of the API server counts, such as 403, except that it cannot serve. */
  async #ask(): Promise<boolean> {
    try {
      await serverVersion(this.#transport);
      return true;
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return !isKubeError(error, "Network", "ServerError");
    }
  }
}
