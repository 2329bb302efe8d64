import { timestamp } from "../../../domain/plan/conditions.ts";
import { spanText } from "../output.ts";

/** The lifetime of a key or token: what was asked for, and what came of it. */
interface AskedLifetime {
  /** Seconds; 0 is no end. */
  readonly ttl: number;
  readonly isIdle: boolean;
  /** Instants in milliseconds since the epoch; without `endsAt`, the end is not known or never. */
  readonly startsAt: number;
  readonly endsAt: number | undefined;
}

/** When a key or token ends, as the predicate of a sentence, and whether that is earlier than asked. */
export function endText({ ttl, isIdle, startsAt, endsAt }: AskedLifetime): string {
  const since = isIdle ? "its last use" : "its creation";
  if (endsAt === undefined)
    return ttl === 0
      ? "does not expire; --ttl sets a lifetime"
      : `ends ${spanText(ttl)} after ${since}`;
  const seconds = Math.round((endsAt - startsAt) / 1000);
  const cut =
    ttl === 0
      ? "; no key lives longer here"
      : seconds < ttl
        ? `; its lifetime of ${spanText(ttl)} was cut`
        : "";
  return `ends ${spanText(seconds)} after ${since}, at ${timestamp(endsAt)}${cut}`;
}
