import { refusal } from "../domain/gateway/refusal.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Exchange } from "../runtime/exchange.ts";

/** What reading a body needs. */
export interface BodyDeps {
  readonly clock: Pick<Clock, "wakeAfter">;
  /** Called when the body made no progress for 30 seconds; reading it then fails. */
  readonly onLate: () => void;
}

/** The refusal of a body that is too slow. */
export const bodyTooSlow = refusal(
  408,
  "timeout",
  "the body of the request did not arrive in time",
);

/** Longest wait for a part of a body while the API server reads it. */
const progressMs = 30_000;

/**
 * The body of a request as the API server asks for it. The stream itself is never handed over:
 * whoever gets it may destroy it, and the answer with it.
 */
export async function* bodyOf(exchange: Exchange, deps: BodyDeps): AsyncGenerator<Uint8Array> {
  exchange.acceptBody();
  const iterator: AsyncIterator<Uint8Array> = exchange.body.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const result = await withinProgress(iterator.next(), deps);
      if (result.done !== true) yield result.value;
      // A reset of HTTP/2 without an error looks like an end.
      else if (exchange.isBodyCut()) throw new Error("the client ended the request");
      else return;
    }
  } finally {
    // What is left can then be thrown away.
    void iterator.return?.();
  }
}

function withinProgress<T>(pending: Promise<T>, { clock, onLate }: BodyDeps): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.wakeAfter(progressMs, () => {
      onLate();
      reject(new Error("the body made no progress"));
    });
    pending.then(resolve, reject).finally(cancel);
  });
}
