import { type Cancel, type Clock, sleep } from "../../runtime/clock.ts";
import { isKubeError } from "../client/kube-error.ts";

/** An API server that does not answer for this long may have been restarted, in milliseconds. */
const restartMs = 1_000;

/**
 * What the informers of a process tell each other. The first request that succeeds after failures
 * ends all back-off waits, so that a process has one back-off after an outage and not one for each
 * kind. After a restart of the API server, or as soon as one informer finds a restored etcd, every
 * informer lists again: the history of a restored etcd may have passed the resourceVersion of a
 * watch, which then says nothing.
 */
export class Recovery {
  readonly #listeners = new Set<() => void>();
  readonly #restartListeners = new Set<() => void>();
  #count = 0;

  /** Number of recoveries. */
  get count(): number {
    return this.#count;
  }

  /** Calls `listener` at every possible restart until it is cancelled. */
  onRestarted(listener: () => void): Cancel {
    this.#restartListeners.add(listener);
    return () => this.#restartListeners.delete(listener);
  }

  /** Calls `listener` at every recovery until it is cancelled. */
  onRecovered(listener: () => void): Cancel {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Resolves after `ms` milliseconds, at a recovery or as soon as `signal` aborts; never rejects.
   */
  readonly pause = async (
    ms: number,
    { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  ): Promise<void> => {
    const recovered = new AbortController();
    const cancel = this.onRecovered(() => recovered.abort());
    try {
      await sleep(ms, { clock, signal: AbortSignal.any([signal, recovered.signal]) });
    } finally {
      cancel();
    }
  };

  /** Records the first success after failures for `awayMs`, in which the API server was away. */
  recovered(awayMs = 0): void {
    this.#count += 1;
    for (const listener of [...this.#listeners]) listener();
    if (awayMs >= restartMs) this.restarted();
  }

  /** Records that the API server may have been restarted, or etcd restored. */
  restarted(): void {
    for (const listener of [...this.#restartListeners]) listener();
  }
}

/** Whether the requests of an informer fail because the API server is away or overloaded. */
export class Outage {
  readonly #clock: Clock;
  /** Whether a request has failed since the last response. */
  #isCutOff = false;
  /** When the first request was sent that did not reach the API server. */
  #awaySince: number | undefined;

  constructor(clock: Clock) {
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
