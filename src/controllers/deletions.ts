import type { Clock } from "../runtime/clock.ts";
import type { FormerGrantee } from "../domain/grants/former-grantee.ts";
import type { Deletion, LeaderMemory } from "./memory.ts";

/** Where deletions are recorded. */
export interface DeletionContext {
  readonly memory: Pick<LeaderMemory, "deletions">;
  readonly clock: Pick<Clock, "monotonic">;
}

/**
 * The deletion of the object with this uid; its first observation is recorded as now.
 */
export function deletionOf(uid: string, { memory, clock }: DeletionContext): Deletion {
  const known = memory.deletions.get(uid) ?? {
    seenAt: clock.monotonic(),
    grantsGoneAt: undefined,
    hadGrants: false,
    grantees: [],
  };
  memory.deletions.set(uid, known);
  return known;
}

/** Records whether grants of an object exist, and returns what is known of its deletion. */
export function noteDeletion(
  uid: string,
  { stand, grantees }: { readonly stand: boolean; readonly grantees: readonly FormerGrantee[] },
  context: DeletionContext,
): Deletion {
  const before = deletionOf(uid, context);
  const met = new Set(grantees.map(({ allowedBy }) => allowedBy));
  const deletion = {
    seenAt: before.seenAt,
    grantsGoneAt: stand ? undefined : (before.grantsGoneAt ?? context.clock.monotonic()),
    hadGrants: before.hadGrants || stand,
    grantees: [...before.grantees.filter(({ allowedBy }) => !met.has(allowedBy)), ...grantees],
  };
  context.memory.deletions.set(uid, deletion);
  return deletion;
}
