/** How long a finalizer waits for clusters that still hold data, in milliseconds. */
const longestWaitMs = 30_000;

/** A cluster with a Secret of a source in its outbox. */
interface HoldingCluster {
  /** Milliseconds since its last heartbeat; undefined if it has none. */
  readonly heartbeatAgeMs: number | undefined;
}

/**
 * Until when the finalizer of a source waits for the clusters that hold a Secret with its uid, as a
 * monotonic instant in milliseconds; undefined if it does not. `seenAt` is when the leader first
 * saw the deletion. A cluster that is not heard does not keep a source: its tombstone stays.
 */
export function heldUntil(seenAt: number, holding: readonly HoldingCluster[]): number | undefined {
  const isHeld = holding.some(({ heartbeatAgeMs: age = Infinity }) => age <= longestWaitMs);
  return isHeld ? seenAt + longestWaitMs : undefined;
}
