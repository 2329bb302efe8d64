import type { Key, Metadata, ObjectRef } from "../api/object.ts";
import type { ObservedResourceQuota } from "../api/resource-quota.ts";
import type { Resource } from "../api/resources.ts";
import type { SourceReport } from "../domain/outbox/cluster-report.ts";
import type { ListedFailure } from "../domain/object-state.ts";
import type { FailureHistory } from "../domain/plan/failure-history.ts";
import type { Repair } from "../domain/plan/repairs.ts";
import type { ObservedCopy, Source, UnmanagedSecret } from "../domain/sync/copy.ts";
import type { SourcePace } from "../domain/sync/source-pace.ts";
import type { FollowedData } from "../domain/sync/source-secret.ts";
import type { SyncObjects } from "../domain/sync/sync-objects.ts";
import type { ReadStore } from "../kube/informer/store.ts";
import type { PassiveClock } from "../runtime/clock.ts";
import { createQueues, type Queues } from "./queues.ts";

/*
 * What decisions about copies read and change, in every cluster; the central cluster adds the rest
 * (stores.ts, memory.ts).
 */

/** The caches of the informers from which copies are decided. */
export interface SyncStores extends SyncObjects {
  readonly sharedSecrets: ReadStore<Source>;
  readonly namespaces: ReadStore<Metadata>;
  readonly copies: ReadStore<ObservedCopy>;
  readonly placeholders: ReadStore<ObservedCopy>;
  readonly unmanagedSecrets: ReadStore<UnmanagedSecret>;
  readonly resourceQuotas: ReadStore<ObservedResourceQuota>;
}

/** Puts into the stores what this process wrote, before the watch events arrive. */
export interface OwnWrites {
  /** Whether an object is in the stores. */
  readonly has: (object: { readonly resource: Resource; readonly ref: ObjectRef }) => boolean;
  /** Puts the response to a write into the stores, so that the next decision observes it. */
  readonly recordWrite: (resource: Resource, answer: unknown) => void;
  /** Removes an object with this uid from the stores after an own delete. */
  readonly recordDelete: (resource: Resource, ref: ObjectRef, uid: string) => void;
  /** Gives a SharedSecret what it has of the Secret that it follows. */
  readonly recordFollowed: (
    sharedSecret: Key,
    followed: FollowedData,
    pace: { readonly changesOften: boolean },
  ) => void;
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

/**
 * What a leader knows besides the stores: plain data, which can be copied. A new leader starts
 * without any.
 */
export interface SyncMemory {
  /** The current failures of each queue; a success removes the failure of a key. */
  readonly failures: Queues<Map<Key, FailureHistory>>;
  /** The targets with a reported failure, by namespace. */
  readonly failedTargets: Map<string, Set<Key>>;
  /** The last write to each part of an object, the latest at the end. */
  readonly repairs: Map<string, Repair>;
  readonly refreshes: RefreshMemory;
  /** How often the Secrets change that SharedSecrets follow. */
  readonly sourcePaces: Map<Key, SourcePace>;
  /** What an agent reports of the sources in its outbox. */
  readonly sourceReports: Map<Key, ReportedSource>;
  /** The reports that an agent has written, by name. */
  readonly writtenReports: Map<Key, WrittenReport>;
}

/** What the decisions of a leader read and change: caches, memory, queues and the time. */
export interface SyncState {
  readonly stores: SyncStores;
  readonly memory: SyncMemory;
  readonly queues: Queues;
  readonly clock: PassiveClock;
}

/** The memory of a new leader. */
export function newSyncMemory(): SyncMemory {
  return {
    failures: createQueues(() => new Map()),
    failedTargets: new Map(),
    repairs: new Map(),
    sourcePaces: new Map(),
    refreshes: { bySource: new Map(), byTarget: new Map() },
    sourceReports: new Map(),
    writtenReports: new Map(),
  };
}
