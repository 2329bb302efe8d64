import { ownValue } from "../../api/parse.ts";
import type { Claims } from "./claim-rules.ts";

/** Why the times of a token refuse it; a closed set for metrics. */
type TokenTimeProblem = "no-times" | "too-long" | "not-yet" | "expired";

/** When a token ends, in milliseconds since the epoch, or why it is refused now. */
type TokenTimes =
  | { readonly kind: "valid"; readonly endsAt: number }
  | { readonly kind: "refused"; readonly reason: TokenTimeProblem };

/** A token for a day is no token of a job any more. */
const longestMs = 24 * 60 * 60 * 1000;
/** Clocks differ; the end of a token counts exactly. */
const leewayMs = 60_000;

/**
 * Judges the times of a token (RFC 7519, sections 4.1.4 to 4.1.6) at `now`, in milliseconds since
 * the epoch: it must have `exp` and `iat`, at most a day apart.
 */
export function tokenTimes(claims: Claims, now: number): TokenTimes {
  const [issuedAt, endsAt] = [instantAt(claims, "iat"), instantAt(claims, "exp")];
  const hasStart = Object.hasOwn(claims, "nbf");
  const startsAt = hasStart ? instantAt(claims, "nbf") : -Infinity;
  if (issuedAt === undefined || endsAt === undefined || startsAt === undefined)
    return { kind: "refused", reason: "no-times" };
  if (endsAt - issuedAt > longestMs) return { kind: "refused", reason: "too-long" };
  if (Math.max(issuedAt, startsAt) > now + leewayMs) return { kind: "refused", reason: "not-yet" };
  return endsAt > now ? { kind: "valid", endsAt } : { kind: "refused", reason: "expired" };
}

/** A NumericDate in milliseconds; undefined for another value, and for one that is no date. */
function instantAt(claims: Claims, name: string): number | undefined {
  const seconds = ownValue(claims, name);
  const ms = typeof seconds === "number" ? seconds * 1000 : Number.NaN;
  return Math.abs(ms) <= 8.64e15 ? ms : undefined;
}
