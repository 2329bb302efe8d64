import { type Pace, patienceMs } from "../domain/gateway/body-pace.ts";
import { refusal } from "../domain/gateway/refusal.ts";
import type { Cancel, Clock } from "../runtime/clock.ts";
import type { Exchange } from "../runtime/exchange.ts";

/** How long the gateway waits for a client. */
interface PaceOptions {
  readonly pace: Pace;
  readonly clock: Clock;
  /** Called when the client was too slow. */
  readonly onLate: () => void;
}

/** The refusal of a body that is too slow. */
export const bodyTooSlow = refusal(
  408,
  "timeout",
  "the body of the request did not arrive in time",
);

/**
 * The body of a request as the API server asks for it; reading fails once the client is too slow.
 * The stream itself is never handed over: its reader could destroy it, and the answer with it.
 */
export async function* pacedBody(
  exchange: Exchange,
  options: PaceOptions,
): AsyncGenerator<Uint8Array> {
  exchange.acceptBody();
  const iterator: AsyncIterator<Uint8Array> = exchange.body.iterator({ destroyOnReturn: false });
  let fail = (_error: Error): void => {};
  const pace = new ClientPace({
    ...options,
    onLate() {
      options.onLate();
      fail(new Error("the body is too slow"));
    },
  });
  const next = (): Promise<IteratorResult<Uint8Array>> =>
    new Promise((resolve, reject) => {
      fail = reject;
      pace.wait();
      iterator.next().then(resolve, reject);
    });
  try {
    for (;;) {
      const result = await next();
      pace.stop();
      if (result.done === true) {
        // A reset of HTTP/2 without an error looks like an end.
        if (exchange.isBodyCut()) throw new Error("the client ended the request");
        return;
      }
      pace.moved(result.value.length);
      yield result.value;
    }
  } finally {
    pace.stop();
    // What is left can then be thrown away.
    void iterator.return?.();
  }
}

/**
 * Measures how long the gateway waits for a client, all in all: a client that moves a byte every
 * few seconds would otherwise hold what others wait for.
 */
export class ClientPace {
  readonly #options: PaceOptions;
  #bytes = 0;
  #waitedMs = 0;
  #waitsSince: number | undefined;
  #cancel: Cancel = () => {};

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** The client moved these bytes. */
  moved(bytes: number): void {
    this.#bytes += bytes;
  }

  /** The gateway waits for the client from now on. */
  wait(): void {
    if (this.#waitsSince !== undefined) return;
    const { clock, pace, onLate } = this.#options;
    this.#waitsSince = clock.monotonic();
    const passed = { bytes: this.#bytes, waitedMs: this.#waitedMs };
    this.#cancel = clock.wakeAfter(patienceMs(pace, passed), onLate);
  }

  /** The gateway does not wait for the client any more. */
  stop(): void {
    if (this.#waitsSince === undefined) return;
    this.#waitedMs += this.#options.clock.monotonic() - this.#waitsSince;
    this.#waitsSince = undefined;
    this.#cancel();
  }
}
