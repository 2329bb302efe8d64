import type { LeaseTimes } from "../../kube/leader-election.ts";
import type { ControllerOptions } from "../world.ts";

/** Options of an agent; `identity` is its name in the Lease of its replicas. */
export interface AgentOptions extends Pick<
  ControllerOptions,
  "namespace" | "requireSyncFrom" | "copyKeys" | "workers" | "writers"
> {
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

/** The options of a controller for an agent, which has no access keys, tokens and grants. */
export function controllerOptionsOf(options: AgentOptions): ControllerOptions {
  return {
    ...options,
    prefixes: { user: "", team: "" },
    ...{ issuer: "", audience: "", quotaTokens: 0, quotaExempt: [] },
    ...{ maximumKeyTtl: 0, maximumTokenTtl: 0, signingKeyRotation: 0, grantSettleTime: 0 },
    ...{ deleteExpiredTokensAfter: 0, deleteExpiredKeysAfter: undefined },
    maximumOutboxBytes: 0,
  };
}
