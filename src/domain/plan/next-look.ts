import type { Next } from "./plan.ts";

/**
 * Look again at the earliest of the instants that are still to come, in milliseconds since the
 * epoch; else wait for a change.
 */
export function nextLook(now: number, instants: readonly (number | undefined)[]): Next {
  const ahead = instants
    .filter((instant) => instant !== undefined)
    .filter((instant) => instant > now);
  return ahead.length === 0
    ? { kind: "wait-for-change" }
    : { kind: "look-again", at: Math.min(...ahead) };
}
