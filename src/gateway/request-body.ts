import { type Pace, patienceMs } from "../domain/gateway/body-pace.ts";
import { refusal } from "../domain/gateway/refusal.ts";
import type { Cancel, Clock } from "../runtime/clock.ts";
import type { Exchange } from "../runtime/exchange.ts";

/** What reading a body needs; `onLate` is called when the client is too slow, and reading fails. */
interface BodyDeps extends ClientPaceDeps {
  readonly pace: Pace;
}

/** The refusal of a body that is too slow. */
export const bodyTooSlow = refusal(
  408,
  "timeout",
  "the body of the request did not arrive in time",
);

/**
 * The body of a request as the API server asks for it. The stream itself is never handed over:
 * its reader could destroy it, and the answer with it.
 */
export async function* pacedBody(exchange: Exchange, deps: BodyDeps): AsyncGenerator<Uint8Array> {
  exchange.acceptBody();
  const iterator: AsyncIterator<Uint8Array> = exchange.body.iterator({ destroyOnReturn: false });
  let fail = (_error: Error): void => {};
  const pace = new ClientPace(deps.pace, {
    clock: deps.clock,
    onLate() {
      deps.onLate();
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

/** What following a client needs. */
interface ClientPaceDeps {
  readonly clock: Pick<Clock, "monotonic" | "wakeAfter">;
  /** Called when the client was too slow. */
  readonly onLate: () => void;
}

/**
 * Measures how long the gateway waits for a client, all in all: a client that moves a byte every
 * few seconds would otherwise hold what others wait for.
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
