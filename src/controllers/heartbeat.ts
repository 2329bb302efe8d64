import { instantOf } from "../domain/lifetime.ts";
import type { LeaseRecord } from "../kube/lease-record.ts";
import type { PassiveClock } from "../runtime/clock.ts";

/** The last write of the Lease of an agent: the clocks of two clusters may differ. */
export interface Heartbeat {
  readonly resourceVersion: string;
  /** Monotonic milliseconds. */
  readonly writtenAt: number;
}

/**
 * The heartbeat in a Lease; undefined if the agent has not renewed it yet. Another write than the
 * `known` one was at most `withinMs` ago: the time in the Lease, which another administrator
 * decides, only says when within that.
 */
export function heartbeatIn(
  lease: LeaseRecord | undefined,
  known: Heartbeat | undefined,
  { clock, withinMs }: { readonly clock: PassiveClock; readonly withinMs: number },
): Heartbeat | undefined {
  const renewedAt = instantOf(lease?.spec.renewTime);
  if (lease === undefined || renewedAt === undefined) return undefined;
  const { resourceVersion } = lease.metadata;
  if (known?.resourceVersion === resourceVersion) return known;
  const ageMs = Math.min(Math.max(0, clock.now() - renewedAt), withinMs);
  return { resourceVersion, writtenAt: clock.monotonic() - ageMs };
}
