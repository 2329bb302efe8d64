import type { ConditionUpdate } from "../../api/conditions.ts";
import { annotations } from "../../api/names.ts";
import type { ObservedAccessKey } from "../../api/owned-access-key.ts";
import { resources } from "../../api/resources.ts";
import type { GrantState } from "../grants/granted-names.ts";
import { expiringFrom, isOver, type Lifetime } from "../lifetime.ts";
import { withApplyFailure, mergeConditions, timestamp } from "../plan/conditions.ts";
import { conditionEvents } from "../plan/events.ts";
import type { ReportedFailure } from "../plan/failure-history.ts";
import { hasFinalizer } from "../plan/finalization.ts";
import { addFinalizerAndStart, annotationWrites } from "../plan/metadata-write.ts";
import {
  requeueAt,
  nothingToDo,
  type Plan,
  deleteWrite,
  type Write,
  statusWrites,
} from "../plan/plan.ts";
import { keyConditions, type KeyConfig, keyLifetime, type ResolvedKey } from "./key-state.ts";

/** The configuration of keys; durations in seconds. */
export interface OwnedAccessKeyConfig extends KeyConfig {
  /** How long the object of an expired key is kept; undefined: forever. */
  readonly deleteExpiredKeysAfter: number | undefined;
}

/** An OwnedAccessKey and the observed state that decides about it. */
export interface ObservedOwnedAccessKey extends ResolvedKey {
  readonly grant: GrantState;
  readonly config: OwnedAccessKeyConfig;
  /** Roles of its scope that do not exist. */
  readonly unknownRoles: readonly string[];
  /** The reported failure of writes to the key or to the grant of its requester. */
  readonly failure?: ReportedFailure | undefined;
}

const resource = resources.ownedAccessKeys;
const secondMs = 1000;

/**
 * Plans the status, Events and expiry of an OwnedAccessKey that is not being deleted; `now` in
 * milliseconds since the epoch.
 */
export function planOwnedAccessKey(observed: ObservedOwnedAccessKey, now: number): Plan {
  const { metadata } = observed.key;
  if (!hasFinalizer(metadata))
    return { ...nothingToDo, steps: [[addFinalizerAndStart(resource, metadata)]] };
  const lifetime = keyLifetime(observed);
  const due = dueAnnotations(observed, lifetime, now);
  const records = annotationWrites(resource, metadata, due);
  const { events, writes } = reportOf(observed, lifetime, now);
  const deleteAt = deletionInstant(observed, lifetime?.endsAt);
  if (records.length === 0 && writes.length === 0 && now >= (deleteAt ?? Infinity)) {
    return { ...nothingToDo, steps: [[deleteWrite(resource, observed.key)]] };
  }
  const isEnding = typeof due[annotations.expiredAt] === "string";
  if (!isEnding)
    return {
      steps: stepsOf(records, events, writes),
      result: requeueAt(now, [expiringFrom(lifetime), lifetime?.endsAt, deleteAt]),
    };
  // Thousands of keys may expire in one second, so the first write for each is its status. The
  // reconcile that this write triggers writes the rest.
  if (writes.length > 0) return { steps: [writes], result: requeueAt(now, [deleteAt]) };
  // The annotation is written last: while it is missing, the Event may be missing, too.
  return {
    steps: stepsOf(expiryEvents(observed, lifetime, now), records),
    result: requeueAt(now, [deleteAt]),
  };
}

/** Plans the status and Events of a key while its plan fails. */
export function planKeyReport(observed: ObservedOwnedAccessKey, now: number): Plan {
  const { events, writes } = reportOf(observed, keyLifetime(observed), now);
  return { ...nothingToDo, steps: stepsOf(events, writes) };
}

function stepsOf(...steps: readonly (readonly Write[])[]): Plan["steps"] {
  return steps.filter((step) => step.length > 0);
}

/** Whether the status of a key says Expired and the expired-at annotation is not written yet. */
export function isEndUnrecorded({ metadata, conditions }: ObservedAccessKey): boolean {
  return (
    metadata.annotations[annotations.expiredAt] === undefined &&
    conditions.some(({ type, status }) => type === "Expired" && status === "True")
  );
}

/** The status write of a key, and the Events for its changes. */
function reportOf(
  observed: ObservedOwnedAccessKey,
  lifetime: Lifetime | undefined,
  now: number,
): { readonly events: readonly Write[]; readonly writes: readonly Write[] } {
  const { metadata, status, conditions } = observed.key;
  const { generation } = metadata;
  const expiresAt = lifetime === undefined ? undefined : timestamp(lifetime.endsAt);
  const updates = conditionUpdates(observed, now);
  const writes = statusWrites(resource, observed.key, {
    // Fields that other Latchkey processes write, such as lastActivity, are kept.
    ...status,
    observedGeneration: generation,
    conditions: mergeConditions(conditions, updates, { generation, now }),
    expiresAt,
    keyID: metadata.uid,
  });
  return {
    events: conditionEvents(
      { resource, metadata, existing: conditions, expiresAt },
      updates,
      "Warning",
    ),
    writes,
  };
}

function conditionUpdates(
  observed: ObservedOwnedAccessKey,
  now: number,
): readonly ConditionUpdate[] {
  return withApplyFailure(
    keyConditions(observed, { now, unknownRoles: observed.unknownRoles }),
    observed.failure,
  );
}

/**
 * The Event of an expiry that is not recorded in the annotation, even if the status says Expired.
 */
function expiryEvents(
  observed: ObservedOwnedAccessKey,
  lifetime: Lifetime | undefined,
  now: number,
): readonly Write[] {
  const { metadata } = observed.key;
  if (lifetime === undefined || metadata.annotations[annotations.expiredAt] !== undefined)
    return [];
  return conditionEvents(
    { resource, metadata, existing: [], expiresAt: timestamp(lifetime.endsAt) },
    conditionUpdates(observed, now),
    "Warning",
  );
}

/**
 * The annotations to change: expired-at is set after the expiry and removed before,
 * former-requester is removed once no other requester is granted the object.
 */
function dueAnnotations(
  { key: { metadata }, grant }: ObservedOwnedAccessKey,
  lifetime: Lifetime | undefined,
  now: number,
): Readonly<Record<string, string | null>> {
  const expiredAt =
    lifetime !== undefined && isOver(lifetime, now) ? timestamp(lifetime.endsAt) : null;
  const isOther = (metadata.annotations[annotations.expiredAt] ?? null) !== expiredAt;
  const isFree =
    metadata.annotations[annotations.formerRequester] !== undefined && !grant.namedByOthers;
  return {
    ...(isOther ? { [annotations.expiredAt]: expiredAt } : {}),
    ...(isFree ? { [annotations.formerRequester]: null } : {}),
  };
}

function deletionInstant(
  { config }: ObservedOwnedAccessKey,
  endsAt: number | undefined,
): number | undefined {
  const after = config.deleteExpiredKeysAfter;
  return after === undefined || endsAt === undefined ? undefined : endsAt + after * secondMs;
}
