import type { Pace } from "../domain/gateway/body-pace.ts";
import { refusal } from "../domain/gateway/refusal.ts";
import type { Exchange } from "../runtime/exchange.ts";
import { ClientPace, type ClientPaceDeps } from "./client-pace.ts";

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
export async function* bodyOf(exchange: Exchange, deps: BodyDeps): AsyncGenerator<Uint8Array> {
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
