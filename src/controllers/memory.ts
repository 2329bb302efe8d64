import { requesterHash } from "../domain/grants/granted-names.ts";
import type { RevocationDecision } from "../domain/endpoint-token/revocation.ts";
import type { Deletion } from "../domain/plan/finalization.ts";
import type { StatedClusters } from "../domain/outbox/cluster-sync.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { Stores } from "./stores.ts";
import { newSyncMemory, type SyncMemory, type SyncState } from "./sync-state.ts";

/** What the leader of the central cluster knows besides the stores. */
export interface LeaderMemory extends SyncMemory {
  /** The objects that are being deleted, by uid. */
  readonly deletions: Map<string, Deletion>;
  /** The uids of keys and tokens with the finalizer, see `noteFinalized`. */
  readonly finalized: Set<string>;
  /**
   * Since when the status of a SharedSecret (by uid) has waited for its targets, in milliseconds
   * since the epoch.
   */
  readonly waitingSince: Map<string, number>;
  /** The decisions about tokens, by jti, until they expire. */
  readonly revocations: Map<string, RevocationDecision>;
  readonly tokenQuota: TokenQuotaMemory;
  readonly agents: AgentMemory;
  /** When the list of revoked tokens may be written next, in monotonic milliseconds. */
  revocationsAt: number;
}

/** The quota of valid tokens for each requester. */
export interface TokenQuotaConfig {
  /** Maximum number of valid tokens of each requester. */
  readonly quotaTokens: number;
  /** Usernames whose tokens are not counted. */
  readonly quotaExempt: readonly string[];
}

/**
 * The tokens of each requester that have not expired. A deleted token counts until its expiry,
 * which bounds the list of revoked tokens; a new leader knows it from there.
 */
export interface TokenQuotaMemory {
  /** The expiry of tokens, by the hash of their requester and their uid. */
  readonly ends: Map<string, Map<string, number>>;
  /** The hashes of the requesters that are not counted. */
  readonly exempt: ReadonlySet<string>;
  sweepAt: number;
}

/** What a leader knows of the agents of connected clusters, by the name of the cluster. */
interface AgentMemory {
  readonly heartbeats: Map<string, Heartbeat>;
  /** The clusters whose sources were enqueued because no heartbeat arrived. */
  readonly unreachable: Set<string>;
  /** What the status of a source (by uid) says of its clusters. */
  readonly stated: Map<string, StatedClusters>;
}

/** What the decisions of a leader read and change: caches, memory, queues and the time. */
export interface LeaderState extends SyncState {
  readonly stores: Stores;
  readonly memory: LeaderMemory;
}

/** The memory of a new leader; `quotaExempt` are usernames. */
export function newMemory({ quotaExempt }: Pick<TokenQuotaConfig, "quotaExempt">): LeaderMemory {
  return {
    ...newSyncMemory(),
    deletions: new Map(),
    finalized: new Set(),
    waitingSince: new Map(),
    revocations: new Map(),
    tokenQuota: { ends: new Map(), exempt: new Set(quotaExempt.map(requesterHash)), sweepAt: 0 },
    agents: { heartbeats: new Map(), unreachable: new Set(), stated: new Map() },
    revocationsAt: -Infinity,
  };
}
