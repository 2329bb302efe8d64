import type { Source } from "../sync/copy.ts";
import type { SourceReport } from "./cluster-report.ts";
import type { OutboxState } from "./outbox-table.ts";

/** What a source has in one connected cluster, as its status says it. */
export interface ClusterSync {
  readonly name: string;
  readonly desired: number;
  readonly synced: number;
  readonly conflicts: number;
  readonly failed: number;
  /** Absent if every target of the cluster is synced. */
  readonly reason?: string;
  readonly message?: string;
}

/** What a source has in all connected clusters that it names. */
export interface ClusterSummary {
  /** At most 20, those that are not well first, then by name. */
  readonly clusters: readonly ClusterSync[];
  readonly counts: { readonly named: number; readonly synced: number };
}

/** What is known of a source in a cluster that it names. */
export type ObservedClusterSync =
  /** No connected cluster has the name. */
  | { readonly kind: "unknown"; readonly name: string }
  /** The cluster has no namespace with the uid of its Secret. */
  | { readonly kind: "no-outbox"; readonly name: string }
  | {
      readonly kind: "connected";
      readonly name: string;
      readonly state: OutboxState;
      /** The resourceVersion of the Secret in the outbox, if it exists. */
      readonly resourceVersion?: string | undefined;
      /** The last rejected write of that Secret. */
      readonly failure?: { readonly reason: string; readonly message: string } | undefined;
      /** What the agent reports of the source. */
      readonly report?: SourceReport | undefined;
      readonly agent: ObservedAgent;
    };

/** What is known of the agent of a cluster. */
export interface ObservedAgent {
  /** Whether its heartbeat is older than 90 s, or missing. */
  readonly isUnreachable: boolean;
  /** Why it writes nothing, from its first report. */
  readonly problem?: { readonly reason: string; readonly message: string } | undefined;
}

/** The clusters that a source names: those of its list, or all that are connected. */
export function namedClusters({ options }: Source, connected: Iterable<string>): readonly string[] {
  return options.clusters.includes("*")
    ? [...new Set([...options.clusters.filter((name) => name !== "*"), ...connected])]
    : [...new Set(options.clusters)];
}

/** What the status of a source says of the clusters that it names. */
export function summarizeClusters(
  _source: Source,
  _clusters: readonly ObservedClusterSync[],
): ClusterSummary {
  return { clusters: [], counts: { named: 0, synced: 0 } };
}

/** How long a finalizer waits for clusters that still hold data, in milliseconds. */
export const longestClusterWaitMs = 30_000;

/** A cluster with a Secret of a source in its outbox. */
export interface HoldingCluster {
  /** Milliseconds since its last heartbeat; undefined if it has none. */
  readonly heartbeatAgeMs: number | undefined;
}

/**
 * Until when the finalizer of a source waits for the clusters that hold a Secret with its uid, as a
 * monotonic instant in milliseconds; undefined if it does not. `seenAt` is when the leader first
 * saw the deletion.
 */
export function heldUntil(seenAt: number, holding: readonly HoldingCluster[]): number | undefined {
  const isHeld = holding.some(
    ({ heartbeatAgeMs: age }) => age !== undefined && age <= longestClusterWaitMs,
  );
  return isHeld ? seenAt + longestClusterWaitMs : undefined;
}
