import type { ObjectRef } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import type { SecretData } from "../../api/shared-secret.ts";
import { deleteWrite, type Write } from "../plan/plan.ts";
import type { Source } from "../sync/copy.ts";
import type { Steps } from "../sync/target-steps.ts";
import {
  marksPatch,
  type ObservedOutboxSecret,
  type OfferedSource,
  outboxManifest,
  tombstoneManifest,
  type WithdrawnSource,
} from "./outbox-secret.ts";

interface Offered {
  readonly offered: OfferedSource;
}

interface Existing {
  readonly secret: ObservedOutboxSecret;
}

interface Withdrawn {
  readonly withdrawn: WithdrawnSource;
}

/** What is known of a Secret of an outbox in each state. */
interface Facts {
  /** Nothing is there, and nothing is to be said. */
  "not-wanted": object;
  current: Offered;
  missing: Offered;
  differs: Offered & Existing;
  /**
   * The data would take more bytes than the outbox may have: a Secret that is there keeps the data
   * that it has, with the options and projects of now.
   */
  full: Offered & Partial<Existing>;
  /** The same, but the rest of the outbox is for other namespaces. */
  "share-full": Offered & Partial<Existing>;
  /** The source is invalid, and may still offer this: what the cluster has stays. */
  "source-invalid": Existing;
  /** The source exists, but certainly offers this cluster nothing. */
  withdrawn: Withdrawn & Existing;
  /** The source is not in the cache; confirmed with the API server before it is withdrawn. */
  orphaned: Withdrawn & Existing;
  /**
   * The cluster has copies of a source that offers nothing; confirmed with the API server before
   * that is said.
   */
  unknown: Withdrawn;
  /** As `unknown`, but the outbox has the maximum of tombstones. */
  deferred: Withdrawn;
  /** A tombstone that the cluster has not acted upon. */
  waiting: Existing;
  /** A tombstone of which the cluster has nothing any more. */
  done: Existing;
  /** The cluster is not connected any more, or anew. */
  disconnected: Existing;
  /** It names no source that its name is of, so it says nothing to an agent. */
  unreadable: Existing;
}

type Kind = keyof Facts;

/** The state of a Secret of an outbox, which decides the writes. */
export type OutboxState<K extends Kind = Kind> = {
  readonly [P in K]: { readonly kind: P } & Facts[P];
}[K];

interface Row<K extends Kind> {
  /** The writes, in order; none if absent. */
  readonly steps?: (state: OutboxState<K>, written: OutboxWritten) => Steps;
}

/** What is written in each state. */
const states: { readonly [K in Kind]: Row<K> } = {
  "not-wanted": {},
  current: {},
  missing: { steps: ({ offered }, written) => offerSteps(offered, written) },
  differs: { steps: ({ offered, secret }, written) => offerSteps(offered, written, secret) },
  full: { steps: narrowingSteps },
  "share-full": { steps: narrowingSteps },
  "source-invalid": {},
  withdrawn: { steps: withdrawalSteps },
  orphaned: { steps: withdrawalSteps },
  unknown: { steps: withdrawalSteps },
  deferred: {},
  waiting: {},
  done: { steps: deletionSteps },
  disconnected: { steps: deletionSteps },
  unreadable: { steps: deletionSteps },
};

/** What the writes of a state need besides it. */
interface OutboxWritten {
  /** RFC 3339. */
  readonly revisedAt: string;
  /** The own data of {@link offeredSource}. */
  readonly data?: SecretData | undefined;
}

/** The writes for a state, in order of the steps. */
export function outboxSteps<K extends Kind>(state: OutboxState<K>, written: OutboxWritten): Steps {
  return states[state.kind].steps?.(state, written) ?? [];
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
  return state.kind === "orphaned" || state.kind === "unknown" ? state.withdrawn.source : undefined;
}

/** The answer to a read of {@link toConfirm}. */
type ReadSource =
  | { readonly kind: "gone" | "unknown" }
  | { readonly kind: "there"; readonly metadata: { readonly resourceVersion: string } };

/**
 * Whether the answer to the read of {@link toConfirm} confirms the state: the SharedSecret is gone,
 * or it is as the cache has it (`cached` is its resourceVersion there, if it has it).
 */
export function isWithdrawalConfirmed(answer: ReadSource, cached: string | undefined): boolean {
  return answer.kind === "there"
    ? answer.metadata.resourceVersion === cached
    : answer.kind === "gone";
}

function offerSteps(
  offered: OfferedSource,
  { revisedAt, data }: OutboxWritten,
  secret?: ObservedOutboxSecret,
): Steps {
  if (data === undefined)
    throw new TypeError("cannot write to an outbox: the data of the source is not loaded");
  const object = (over?: ObservedOutboxSecret) =>
    outboxManifest({ ...offered, data }, revisedAt, over);
  const isRemoval = secret !== undefined && marksPatch(secret, offered) !== undefined;
  return writeSteps(object, secret, { dataDigest: offered.source.ownDigest, isRemoval });
}

function withdrawalSteps(
  { withdrawn, secret }: Withdrawn & Partial<Existing>,
  { revisedAt }: OutboxWritten,
): Steps {
  const object = (over?: ObservedOutboxSecret) => tombstoneManifest(withdrawn, revisedAt, over);
  // It has no data, and what somebody writes into it is not that of the source.
  return writeSteps(object, secret, { dataDigest: "" });
}

/** Creates or replaces a Secret; one that a user made immutable is deleted first. */
function writeSteps(
  object: (over?: ObservedOutboxSecret) => ReturnType<typeof outboxManifest>,
  secret: ObservedOutboxSecret | undefined,
  how: { readonly dataDigest: string; readonly isRemoval?: boolean },
): Steps {
  const resource = resources.secrets;
  const create = (): Write => ({ do: "create", resource, object: object(), ...how });
  if (secret === undefined) return [[create()]];
  return secret.immutable
    ? [[deleteWrite(resource, secret)], [create()]]
    : [[{ do: "replace", resource, object: object(secret), ...how }]];
}

/** Takes away what is not offered any more from a Secret whose data cannot be replaced. */
function narrowingSteps({ offered, secret }: Offered & Partial<Existing>): Steps {
  const changes = secret === undefined ? undefined : marksPatch(secret, offered);
  if (secret === undefined || changes === undefined) return [];
  const { metadata } = secret;
  const { resourceVersion } = metadata;
  const body = { metadata: { resourceVersion, annotations: changes } };
  return [[{ do: "patch", resource: resources.secrets, ref: metadata, body, isRemoval: true }]];
}

function deletionSteps({ secret }: Existing): Steps {
  return [[deleteWrite(resources.secrets, secret)]];
}
