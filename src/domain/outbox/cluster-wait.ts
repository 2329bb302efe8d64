import type { Metadata } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import type { Write } from "../plan/plan.ts";

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

/** Maximum number of clusters that an Event names. */
const mostNamed = 5;

/**
 * The Event about a SharedSecret that is deleted before these clusters have confirmed that they
 * have nothing of it; none without a cluster.
 */
export function unconfirmedRemoval(
  { namespace, name, uid }: Metadata,
  clusters: readonly string[],
): readonly Write[] {
  if (clusters.length === 0) return [];
  const named = clusters.slice(0, mostNamed).map((cluster) => JSON.stringify(cluster));
  const more = clusters.length - named.length;
  const list = [...named, ...(more > 0 ? [`${more} more`] : [])].join(", ");
  const subject = { ...(namespace === undefined ? {} : { namespace }), name, uid };
  return [
    {
      do: "record-event",
      event: {
        resource: resources.sharedSecrets,
        subject,
        deduplicationKey: uid,
        type: "Warning",
        reason: "ClusterUnreachable",
        note:
          `The removal of the copies is not confirmed by: ${list}. ` +
          "The agent of each cluster removes them when it reads its outbox.",
      },
    },
  ];
}
