import { labels } from "../../api/names.ts";
import { keyOf, type ObjectRef, refOf } from "../../api/object.ts";
import type { Source } from "../sync/copy.ts";
import { type ConnectedCluster, isWithdrawn, offerTo } from "./consents.ts";
import type { UnknownSource } from "./cluster-report.ts";
import { outboxName } from "./outbox-names.ts";
import {
  isOfferCurrent,
  type ObservedOutboxSecret,
  type OfferedSource,
  sourceOfOutbox,
  isTombstoneOf,
  withdrawnUid,
  type WithdrawnSource,
} from "./outbox-secret.ts";
import type { OutboxState } from "./outbox-table.ts";

/** All that concerns one Secret of an outbox. */
export interface ObservedOutboxKey {
  /** Namespace and name of the Secret. */
  readonly target: ObjectRef;
  /** Whether the namespace is missing or terminating, so that nothing is written there. */
  readonly isTerminating: boolean;
  /**
   * The cluster whose outbox it is: the namespace names it, and has the uid of its Secret in the
   * annotation cluster-uid. Undefined if there is no such cluster, or another one by now.
   */
  readonly cluster: ConnectedCluster | undefined;
  /** The Secret of type `management.service/outbox`, if it exists. */
  readonly existing?: ObservedOutboxSecret | undefined;
  /** The SharedSecret whose `outboxName` is the name of the Secret, if it is in the store. */
  readonly source?: Source | undefined;
  /** What the reports of this cluster say about this key. */
  readonly reported: ReportedKey;
  readonly usage: OutboxUsage;
}

/** What the reports of a cluster say about one Secret of its outbox. */
export interface ReportedKey {
  /** By the uid of a source: the resourceVersion of the Secret that withdraws it. */
  readonly done: ReadonlyMap<string, string>;
  /** A source of copies that no Secret of the outbox is about, with this name in the outbox. */
  readonly unknown?: UnknownSource | undefined;
}

/** What an outbox holds, and its bounds. */
interface OutboxUsage {
  /** The sum of `size` of its Secrets. */
  readonly bytes: number;
  /** The same of those whose source is in the namespace of the source. */
  readonly namespaceBytes: number;
  /** `--maximum-outbox-bytes`. */
  readonly maximumBytes: number;
  /** Number of tombstones. */
  readonly withdrawals: number;
}

/**
 * Maximum tombstones in an outbox that answer unknown sources; others wait. What is withdrawn is
 * always said.
 */
export const mostWithdrawals = 1_000;

/**
 * The last quarter of an outbox is for the namespaces that hold less than a sixteenth of it, so
 * that one tenant cannot fill it for all.
 */
const outboxShares = { open: 3 / 4, namespace: 1 / 16 } as const;

/** The state of one Secret of an outbox. */
export function outboxState(observed: ObservedOutboxKey): OutboxState {
  const { cluster, existing: secret, isTerminating, source } = observed;
  if (isTerminating) return notWanted;
  if (cluster === undefined)
    return secret === undefined ? notWanted : { kind: "disconnected", secret };
  const offer = source === undefined ? undefined : offerTo(source, cluster);
  if (source !== undefined && offer?.kind === "offered")
    return offeredState(
      { source, cluster: cluster.name, projects: offer.projects },
      cluster,
      observed,
    );
  const isCertain = source === undefined || isWithdrawn(source, cluster);
  if (secret === undefined) return isCertain ? unknownState(cluster, observed) : notWanted;
  if (withdrawnUid(secret) !== undefined) return tombstoneState(secret, cluster, observed);
  if (!isCertain) return { kind: "source-invalid", secret };
  const withdrawn = withdrawnSource(secret, cluster, observed);
  if (withdrawn === undefined) return { kind: "unreadable", secret };
  return { kind: source === undefined ? "orphaned" : "withdrawn", secret, withdrawn };
}

const notWanted: OutboxState = { kind: "not-wanted" };

function offeredState(
  offered: OfferedSource,
  cluster: ConnectedCluster,
  observed: ObservedOutboxKey,
): OutboxState {
  const { source } = offered;
  const { existing: secret, usage } = observed;
  if (secret !== undefined && isOfferCurrent(secret, offered)) return { kind: "current", offered };
  const bound = boundMet(secret?.size ?? 0, source.size, usage);
  if (secret === undefined) return { kind: bound ?? "missing", offered };
  if (bound === undefined) return { kind: "differs", offered, secret };
  const full = { kind: bound, offered, secret };
  if (withdrawnUid(secret) !== undefined) {
    const state = tombstoneState(secret, cluster, observed);
    return state.kind === "waiting" ? full : state;
  }
  const uid = secret.metadata.labels[labels.outboxUid] ?? "";
  if (uid === "") return { kind: "unreadable", secret };
  if (uid === source.secret.metadata.uid) return full;
  // The data of another source that had the name may not stay.
  const withdrawn = { cluster: cluster.name, source: placeOf(source), uid };
  return { kind: "withdrawn", secret, withdrawn };
}

/** The bound that keeps a Secret from getting its new size; what does not grow always may. */
function boundMet(
  size: number,
  wanted: number,
  { bytes, namespaceBytes, maximumBytes }: OutboxUsage,
): "full" | "share-full" | undefined {
  const all = bytes - size + wanted;
  if (wanted <= size || all <= maximumBytes * outboxShares.open) return undefined;
  if (all > maximumBytes) return "full";
  const isSmall = namespaceBytes - size < maximumBytes * outboxShares.namespace;
  return isSmall ? undefined : "share-full";
}

function unknownState(
  { name: cluster }: ConnectedCluster,
  { reported: { unknown }, usage }: ObservedOutboxKey,
): OutboxState {
  if (unknown === undefined) return notWanted;
  const withdrawn = { cluster, ...unknown };
  return { kind: usage.withdrawals < mostWithdrawals ? "unknown" : "deferred", withdrawn };
}

function tombstoneState(
  secret: ObservedOutboxSecret,
  cluster: ConnectedCluster,
  observed: ObservedOutboxKey,
): OutboxState {
  const withdrawn = withdrawnSource(secret, cluster, observed);
  if (withdrawn === undefined) return { kind: "unreadable", secret };
  if (!isTombstoneOf(secret, withdrawn)) return { kind: "withdrawn", secret, withdrawn };
  const isDone = observed.reported.done.get(withdrawn.uid) === secret.metadata.resourceVersion;
  return { kind: isDone ? "done" : "waiting", secret };
}

/** The source that a Secret is of: as it says itself, or the SharedSecret that has its name. */
function withdrawnSource(
  secret: ObservedOutboxSecret,
  { name: cluster }: ConnectedCluster,
  { target, source }: ObservedOutboxKey,
): WithdrawnSource | undefined {
  const said = sourceOfOutbox(secret.metadata);
  const isNamed = said !== undefined && outboxName(said) === target.name;
  const named = isNamed ? said : source && placeOf(source);
  const uid = secret.metadata.labels[labels.outboxUid] || source?.secret.metadata.uid;
  return named === undefined || uid === undefined ? undefined : { cluster, source: named, uid };
}

function placeOf({ secret }: Source): ObjectRef {
  return refOf(keyOf(secret.metadata));
}
