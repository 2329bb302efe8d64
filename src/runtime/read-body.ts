import type { IncomingMessage } from "node:http";
import type { BodyBudget } from "./body-budget.ts";
import { ByteCollector } from "./byte-collector.ts";
import type { Timers } from "./clock.ts";

/** The result of reading a body; a whole body keeps its bytes reserved until `release`. */
export type Body =
  | { readonly kind: "whole"; readonly text: string; release(): void }
  | { readonly kind: "too-large" | "overloaded" | "too-slow" | "broken" };

/** Dependencies of {@link readBody}. */
interface BodyDeps {
  readonly clock: Timers;
  /** Maximum size of a body in bytes. */
  readonly most: number;
  readonly budget: BodyBudget;
  /** Who sends it: a client name, or an address. */
  readonly sender: string;
}

/** Timeouts of a body: without progress, and in total. */
export const bodyPatience = { silentMs: 3_000, wholeMs: 10_000 } as const;

/** Whether a request has a body, by its headers (RFC 9112, section 6.3). */
export function hasBody({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Reads the body of a request; checks Content-Length before it reads the first byte. */
export function readBody(
  incoming: IncomingMessage,
  { clock, most, budget, sender }: BodyDeps,
): Promise<Body> {
  if (Number(incoming.headers["content-length"] ?? 0) > most)
    return Promise.resolve({ kind: "too-large" });
  return new Promise((resolve) => {
    const collected = new ByteCollector(most);
    const settle = (body: Body): void => {
      cancelSilence();
      cancelWhole();
      incoming.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken);
      if (body.kind === "whole") share.completed();
      else share.release();
      resolve(body);
    };
    const giveUp = (): void => settle({ kind: "too-slow" });
    const onBroken = (): void => settle({ kind: "broken" });
    const onEnd = (): void =>
      settle({
        kind: "whole",
        text: collected.take().toString("utf8"),
        release: () => share.release(),
      });
    const onData = (chunk: Buffer): void => {
      if (collected.length + chunk.length > most) return settle({ kind: "too-large" });
      if (!share.take(chunk.length)) return settle({ kind: "overloaded" });
      collected.add(chunk);
      cancelSilence();
      cancelSilence = clock.wakeAfter(bodyPatience.silentMs, giveUp);
    };
    const share = budget.open(sender, () => settle({ kind: "overloaded" }));
    let cancelSilence = clock.wakeAfter(bodyPatience.silentMs, giveUp);
    const cancelWhole = clock.wakeAfter(bodyPatience.wholeMs, giveUp);
    incoming.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken);
  });
}
