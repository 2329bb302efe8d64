import type { ObjectRef } from "../../api/object.ts";
import type { SecretData } from "../../api/shared-secret.ts";
import type { Steps } from "../sync/target-steps.ts";
import type { Source } from "../sync/copy.ts";
import type { ConnectedCluster } from "./consents.ts";
import type { ObservedOutboxSecret, OfferedSource } from "./outbox-secret.ts";

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
  /** The Secret with the label outbox-uid, if it exists. */
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

/** A source that a cluster has copies of and that its outbox says nothing about. */
export interface UnknownSource {
  readonly source: ObjectRef;
  readonly uid: string;
}

/** What an outbox holds, and its bounds. */
export interface OutboxUsage {
  /** Bytes of all its Secrets, as in `size` of each. */
  readonly bytes: number;
  /** `--maximum-outbox-bytes`. */
  readonly maximumBytes: number;
  /** Number of tombstones. */
  readonly withdrawals: number;
}

/** What is known of a Secret of an outbox in each state. */
interface Facts {
  /** Nothing is there, and nothing is to be said. */
  "not-wanted": object;
  current: { readonly offered: OfferedSource };
  missing: { readonly offered: OfferedSource };
  differs: { readonly offered: OfferedSource; readonly secret: ObservedOutboxSecret };
  /** The offer would take more bytes than the outbox may have. */
  full: { readonly offered: OfferedSource; readonly secret?: ObservedOutboxSecret };
  /** The source is invalid, and may still offer this: what the cluster has stays. */
  "source-invalid": { readonly secret: ObservedOutboxSecret };
  /** The source exists, but certainly offers this cluster nothing. */
  withdrawn: ToWithdraw & { readonly secret: ObservedOutboxSecret };
  /** The source is not in the cache; confirmed with the API server before it is withdrawn. */
  orphaned: ToWithdraw & { readonly secret: ObservedOutboxSecret };
  /**
   * The cluster has copies of a source that offers nothing; confirmed with the API server before
   * that is said.
   */
  unknown: ToWithdraw;
  /** As `unknown`, but the outbox has the maximum of tombstones. */
  deferred: ToWithdraw;
  /** A tombstone that the cluster has not acted upon. */
  waiting: { readonly secret: ObservedOutboxSecret };
  /** A tombstone of which the cluster has nothing any more. */
  done: { readonly secret: ObservedOutboxSecret };
  /** The cluster is not connected any more, or anew. */
  disconnected: { readonly secret: ObservedOutboxSecret };
  /** It names no source that its name is of, so it says nothing to an agent. */
  unreadable: { readonly secret: ObservedOutboxSecret };
  /** A Secret of another type: it is not of Latchkey and never changed. */
  conflict: { readonly secret: ObservedOutboxSecret };
}

/** A source whose copies in a cluster are withdrawn. */
interface ToWithdraw {
  readonly source: ObjectRef;
  readonly uid: string;
}

type Kind = keyof Facts;

/** The state of a Secret of an outbox, which decides the writes. */
export type OutboxState<K extends Kind = Kind> = {
  readonly [P in K]: { readonly kind: P } & Facts[P];
}[K];

/** The state of one Secret of an outbox. */
export function outboxState(_observed: ObservedOutboxKey): OutboxState {
  return { kind: "not-wanted" };
}

/** The source whose own data is written, if any (`read-data` with the variant `own`). */
export function offeredSource(state: OutboxState): Source | undefined {
  return state.kind === "missing" || state.kind === "differs" ? state.offered.source : undefined;
}

/**
 * The SharedSecret that is read from the API server before anything is written in a state; the
 * writes follow only if {@link isWithdrawalConfirmed}. Undefined if nothing is to be confirmed.
 */
export function toConfirm(state: OutboxState): ObjectRef | undefined {
  return state.kind === "orphaned" || state.kind === "unknown" ? state.source : undefined;
}

/**
 * Whether the answer to the read of {@link toConfirm} confirms the state: the SharedSecret is gone,
 * or it is as the cache has it (`cached` is its resourceVersion there).
 */
export function isWithdrawalConfirmed(
  answer:
    | { readonly kind: "gone" | "unknown" }
    | { readonly kind: "there"; readonly metadata: { readonly resourceVersion: string } },
  cached: string | undefined,
): boolean {
  return (
    answer.kind === "gone" ||
    (answer.kind === "there" && answer.metadata.resourceVersion === cached)
  );
}

/** What the writes of a state need: `revisedAt` is an RFC 3339 time. */
export interface OutboxWritten {
  readonly target: ObjectRef;
  readonly cluster: string;
  readonly revisedAt: string;
  /** The own data of {@link offeredSource}. */
  readonly data?: SecretData | undefined;
}

/** The writes for a state, in order of the steps. */
export function outboxSteps<K extends Kind>(
  _state: OutboxState<K>,
  _written: OutboxWritten,
): Steps {
  return [];
}
