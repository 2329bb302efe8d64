import type { ObservedAccessKey } from "../../api/owned-access-key.ts";
import { timestamp } from "../plan/conditions.ts";
import { instantOf } from "../lifetime.ts";

const secondMs = 1000;
const longestMs = 10 * 60 * secondMs;

/**
 * Minimum time between two writes of lastActivity, in milliseconds: a twentieth of an idle ttl, so
 * that a key in use does not expire, between 1 s and 10 min; 10 min without an idle ttl.
 */
export function activityInterval({ spec }: Pick<ObservedAccessKey, "spec">): number {
  if (!spec.ttlAfterLastActivity || spec.ttl === undefined || spec.ttl <= 0) return longestMs;
  return Math.min(Math.max((spec.ttl * secondMs) / 20, secondMs), longestMs);
}

/**
 * The `status.lastActivity` to write for a use at `usedAt`, in milliseconds since the epoch;
 * undefined if the recorded one is recent enough. The value never decreases.
 */
export function dueActivity(
  key: Pick<ObservedAccessKey, "spec" | "lastActivity">,
  usedAt: number,
): string | undefined {
  const recorded = instantOf(key.lastActivity);
  const isDue = recorded === undefined || usedAt >= recorded + activityInterval(key);
  return isDue ? timestamp(usedAt) : undefined;
}
