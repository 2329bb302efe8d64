import type { Heartbeat } from "./heartbeat.ts";
import type { Key } from "../api/object.ts";
import type { SourceReport } from "../domain/outbox/cluster-report.ts";
import type { RevocationDecision } from "../domain/endpoint-token/revocation.ts";
import { requesterHash } from "../domain/grants/granted-names.ts";
import type { StatedClusters } from "../domain/outbox/cluster-sync.ts";
import type { FormerGrantee } from "../domain/grants/former-grantee.ts";
import type { ListedFailure } from "../domain/object-state.ts";
import type { FailureHistory } from "../domain/plan/failure-history.ts";
import type { PassiveClock } from "../runtime/clock.ts";
import { createQueues, type Queues } from "./queues.ts";
import type { Stores } from "./stores.ts";

/**
 * What a leader knows besides the stores: plain data, which can be copied. A new leader starts
 * without any.
 */
export interface LeaderMemory {
  /** The current failures of each queue; a success removes the failure of a key. */
  readonly failures: Queues<Map<Key, FailureHistory>>;
  /** The targets with a reported failure, by namespace. */
  readonly failedTargets: Map<string, Set<Key>>;
  /** The objects that are being deleted, by uid. */
  readonly deletions: Map<string, Deletion>;
  readonly refreshes: RefreshMemory;
  /**
   * Since when the status of a SharedSecret (by uid) has waited for its targets, in milliseconds
   * since the epoch.
   */
  readonly waitingSince: Map<string, number>;
  /** The uids of objects with the finalizer, see `noteFinalized`. */
  readonly finalized: Set<string>;
  /** The decisions about tokens, by jti, until they expire. */
  readonly revocations: Map<string, RevocationDecision>;
  readonly tokenQuota: TokenQuotaMemory;
  readonly agents: AgentMemory;
  /** What an agent reports of the sources in its outbox. */
  readonly sourceReports: Map<Key, ReportedSource>;
  /** The reports that an agent has written, by name. */
  readonly writtenReports: Map<Key, WrittenReport>;
  /** When the list of revoked tokens may be written next, in monotonic milliseconds. */
  revocationsAt: number;
}

/**
 * What a leader knows of an object that is being deleted; instants are monotonic milliseconds. A
 * new leader starts without it, which only delays the deletion.
 */
export interface Deletion {
  readonly seenAt: number;
  /** When the last grant was deleted; undefined while a grant exists. */
  readonly grantsGoneAt: number | undefined;
  /** Whether this leader has observed a grant. */
  readonly hadGrants: boolean;
  /** The subjects of its bindings. */
  readonly grantees: readonly FormerGrantee[];
}

/** The refresh of a SharedSecret. */
export interface Refresh {
  readonly uid: string;
  /** Absent once the annotation is removed: the same value is then another request. */
  readonly value?: string;
  readonly startedAt: number;
  /** Targets that have not been read since. */
  readonly waiting: Set<Key>;
}

/**
 * The refreshes of a leader: a change of `refresh-now` makes the next reconcile of each target read
 * it from the API server first. The status remembers the last value, so a new leader starts a
 * refresh again only if it was not complete.
 */
interface RefreshMemory {
  readonly bySource: Map<Key, Refresh>;
  /** The SharedSecrets whose refresh waits for a target. */
  readonly byTarget: Map<Key, Set<Key>>;
}

/**
 * What an agent reports of a source in the report of this name: the state of its targets, or of its
 * withdrawal by the version `seen` of its entry.
 */
export type ReportedSource = { readonly uid: string; readonly reportName: Key } & (
  | { readonly report: SourceReport; readonly failures: readonly ListedFailure[] }
  | { readonly seen: string; readonly isDone: boolean }
);

/** A report that an agent has written or is writing; `at` is in monotonic milliseconds. */
export interface WrittenReport {
  readonly text: string;
  /** When it was written, or compared with its ConfigMap. */
  readonly at: number;
  readonly isSent: boolean;
  /** The resourceVersion of the ConfigMap when it was compared. */
  readonly checked?: string;
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
export interface LeaderState {
  readonly stores: Stores;
  readonly memory: LeaderMemory;
  readonly queues: Queues;
  readonly clock: PassiveClock;
}

/** The memory of a new leader; `quotaExempt` are usernames. */
export function newMemory({ quotaExempt }: Pick<TokenQuotaConfig, "quotaExempt">): LeaderMemory {
  return {
    failures: createQueues(() => new Map()),
    failedTargets: new Map(),
    deletions: new Map(),
    refreshes: { bySource: new Map(), byTarget: new Map() },
    waitingSince: new Map(),
    finalized: new Set(),
    revocations: new Map(),
    tokenQuota: { ends: new Map(), exempt: new Set(quotaExempt.map(requesterHash)), sweepAt: 0 },
    agents: { heartbeats: new Map(), unreachable: new Set(), stated: new Map() },
    sourceReports: new Map(),
    writtenReports: new Map(),
    revocationsAt: -Infinity,
  };
}
