import type { Result } from "./plan.ts";

/**
 * Look again at the earliest of the instants that are still to come, in milliseconds since the
 * epoch; else wait for a change.
 */
export function requeueAt(now: number, instants: readonly (number | undefined)[]): Result {
  const ahead = instants
    .filter((instant) => instant !== undefined)
    .filter((instant) => instant > now);
  return ahead.length === 0 ? { kind: "done" } : { kind: "requeue-at", at: Math.min(...ahead) };
}
