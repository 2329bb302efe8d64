import { annotations } from "../api/names.ts";
import { resources } from "../api/resources.ts";
import { settleConditions, timestamp } from "./conditions.ts";
import { annotationWrites, beginWrite, isHeld } from "./finalizer.ts";
import type { GrantState } from "./granted-names.ts";
import { keyClaims, type KeyConfig, keyLifetime, type KeyView } from "./key-state.ts";
import { expiringFrom, isOver, type Lifetime } from "./lifetime.ts";
import { nextLook } from "./next-look.ts";
import { notices } from "./notices.ts";
import { nothingToDo, type Plan, removal } from "./plan.ts";
import { statusWrites } from "./status-write.ts";

/** What of the configuration bears on keys; seconds. */
export interface OwnedAccessKeyConfig extends KeyConfig {
  /** How long the object of an expired key stays; undefined is for ever. */
  readonly deleteExpiredKeysAfter: number | undefined;
}

/** An OwnedAccessKey and what bears on it. */
export interface OwnedAccessKeyView extends KeyView {
  readonly grant: GrantState;
  readonly config: OwnedAccessKeyConfig;
  /** Roles that its scope names and that are not there. */
  readonly unknownRoles: readonly string[];
}

const resource = resources.ownedAccessKeys;
const secondMs = 1000;

/** Keeps the status of an OwnedAccessKey that is not being deleted true, and tells of its end; `now` in milliseconds since the epoch. */
export function planOwnedAccessKey(view: OwnedAccessKeyView, now: number): Plan {
  const { metadata, status, conditions } = view.key;
  if (!isHeld(metadata)) return { ...nothingToDo, steps: [[beginWrite(resource, metadata)]] };
  const life = keyLifetime(view);
  const records = annotationWrites(resource, metadata, dueAnnotations(view, life, now));
  const expiresAt = life === undefined ? undefined : timestamp(life.endsAt);
  const claims = keyClaims(view, { now, unknownRoles: view.unknownRoles });
  const { generation } = metadata;
  const writes = statusWrites(resource, view.key, {
    // What others of Latchkey's processes write, such as lastActivity, stays as it stands.
    ...status,
    observedGeneration: generation,
    conditions: settleConditions(conditions, claims, { generation, now }),
    expiresAt,
    keyID: metadata.uid,
  });
  const deleteAt = deletionInstant(view, life?.endsAt);
  if (records.length === 0 && writes.length === 0 && now >= (deleteAt ?? Infinity)) {
    return { ...nothingToDo, steps: [[removal(resource, view.key)]] };
  }
  const telling = { resource, metadata, standing: conditions, expiresAt };
  return {
    steps: [records, notices(telling, claims, "Warning"), writes].filter((step) => step.length > 0),
    next: nextLook(now, [expiringFrom(life), life?.endsAt, deleteAt]),
  };
}

/** What is to be recorded: an end that has come, no end that is still to come, and no former requester once nobody else is granted the object. */
function dueAnnotations({ key: { metadata }, grant }: OwnedAccessKeyView, life: Lifetime | undefined, now: number): Readonly<Record<string, string | null>> {
  const expiredAt = life !== undefined && isOver(life, now) ? timestamp(life.endsAt) : null;
  const isOther = (metadata.annotations[annotations.expiredAt] ?? null) !== expiredAt;
  const isFree = metadata.annotations[annotations.formerRequester] !== undefined && !grant.namedByOthers;
  return { ...(isOther ? { [annotations.expiredAt]: expiredAt } : {}), ...(isFree ? { [annotations.formerRequester]: null } : {}) };
}

function deletionInstant({ config }: OwnedAccessKeyView, endsAt: number | undefined): number | undefined {
  const after = config.deleteExpiredKeysAfter;
  return after === undefined || endsAt === undefined ? undefined : endsAt + after * secondMs;
}
