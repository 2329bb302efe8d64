import type { LeaseTimes } from "../../kube/leader-election.ts";
import type { SyncOptions } from "../sync-world.ts";

/** Options of an agent; `identity` is its name in the Lease of its replicas. */
export interface AgentOptions extends SyncOptions {
  /** The name of the connected cluster in the central one. */
  readonly clusterName: string;
  readonly identity: string;
  readonly lease: LeaseTimes;
  /** Maximum bytes of request bodies, and of their responses, that are in memory at a time. */
  readonly maximumBodyBytesInFlight: number;
  /**
   * Milliseconds without the central cluster after which copies are deleted; undefined is never.
   */
  readonly deleteAfterDisconnect: number | undefined;
}
