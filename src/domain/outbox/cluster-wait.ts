import type { Metadata } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import type { Write } from "../plan/plan.ts";
import { quoted } from "../report-object.ts";
import { leftoverReason } from "../sync/leftover.ts";
import type { ObservedClusterSync } from "./cluster-obstacle.ts";

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

/** The clusters that still hold a source, by name, and what those say that cannot remove it. */
interface UnconfirmedRemoval {
  readonly holding: readonly string[];
  readonly blocked: readonly Pick<ObservedClusterSync, "name" | "report">[];
}

/**
 * The Event about a SharedSecret that is deleted before these clusters have confirmed that they
 * have nothing of it; none without a cluster.
 */
export function unconfirmedRemoval(
  { namespace, name, uid }: Metadata,
  { holding, blocked: [first] }: UnconfirmedRemoval,
): readonly Write[] {
  if (holding.length === 0) return [];
  const named = holding.slice(0, mostNamed).map(quoted);
  const more = holding.length - named.length;
  const list = [...named, ...(more > 0 ? [`${more} more`] : [])].join(", ");
  const subject = { ...(namespace === undefined ? {} : { namespace }), name, uid };
  const why =
    first === undefined
      ? "The agent of each cluster removes them when it reads its outbox."
      : `First: cluster ${quoted(first.name)}: ${first.report?.message ?? ""}`;
  return [
    {
      do: "record-event",
      event: {
        resource: resources.sharedSecrets,
        subject,
        deduplicationKey: uid,
        type: "Warning",
        reason: first === undefined ? "ClusterUnreachable" : leftoverReason,
        note: `The removal of the copies is not confirmed by: ${list}. ${why}`,
      },
    },
  ];
}
