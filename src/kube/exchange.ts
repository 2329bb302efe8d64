import type { Dispatcher } from "undici";
import type { Clock } from "../runtime/clock.ts";

/** A request whose body is encoded; `path` is complete. */
export type EncodedRequest = Readonly<
  Pick<Dispatcher.DispatchOptions, "method" | "path"> & {
    headers: Record<string, string>;
    body: string | null;
  }
>;

/** A complete response. */
export interface CompleteResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

/** Limits of an exchange. */
export interface ExchangeOptions {
  readonly clock: Pick<Clock, "wakeAfter">;
  /** Maximum duration in milliseconds, including the wait for a connection. */
  readonly allowedMs: number;
  /**
   * Called when the request is written to its socket: undici keeps it waiting for a connection, and
   * on an idle one for an iteration of the event loop. An error ends the exchange.
   */
  readonly onWrite: () => void;
}

/**
 * Sends a request and collects its response; rejects with the error of undici or of `onWrite`, or
 * when the time has passed. undici's own `request` makes a stream of each response and needs a
 * signal for each timeout; a small response needs neither.
 */
export function exchange(
  dispatcher: Pick<Dispatcher, "dispatch">,
  request: EncodedRequest,
  { clock, allowedMs, onWrite }: ExchangeOptions,
): Promise<CompleteResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<CompleteResponse>();
  const chunks: Buffer[] = [];
  let [status, retryAfter]: [number, string | undefined] = [0, undefined];
  let controller: Dispatcher.DispatchController | undefined;
  let late: Error | undefined;
  const stopClock = clock.wakeAfter(allowedMs, () => {
    late = new Error("the response is late");
    reject(late);
    controller?.abort(late);
  });
  // Otherwise undici closes the connection after every DELETE that has a body.
  dispatcher.dispatch(
    { ...request, reset: false },
    {
      onRequestStart(started) {
        controller = started;
        if (late === undefined) onWrite();
        else started.abort(late);
      },
      onResponseStart(_controller, code, headers) {
        [status, retryAfter] = [code, firstOf(headers["retry-after"])];
      },
      onResponseData: (_controller, chunk) => void chunks.push(chunk),
      onResponseEnd() {
        stopClock();
        resolve({ status, retryAfter, text: textOf(chunks) });
      },
      onResponseError(_controller, error) {
        stopClock();
        reject(error);
      },
    },
  );
  return promise;
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function textOf(chunks: readonly Buffer[]): string {
  const [first] = chunks;
  return (first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks)).toString(
    "utf8",
  );
}
