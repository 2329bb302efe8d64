import type { Condition, Reason } from "../api/conditions.ts";
import { keyOf } from "../api/object.ts";
import type { QuotaRelief } from "../domain/sync/quota-relief.ts";
import { failedTargetsIn, failureAt, type LeaderMemory } from "./memory.ts";
import type { Queues } from "./queues.ts";
import { indexes, type Stores } from "./stores.ts";

/** Dependencies of {@link createRefusedObjects}. */
export interface RefusedObjectsDeps {
  readonly queues: Pick<Queues, "sharedSecret" | "copy">;
  readonly stores: Pick<Stores, "sharedSecrets">;
  readonly memory: Pick<LeaderMemory, "failures" | "failedTargets">;
}

/**
 * Copies, Roles and RoleBindings that the API server rejected. They are retried at once when the
 * cause may have ended.
 */
export interface RefusedObjects {
  /** Retries all rejected objects of a namespace. */
  retryAll(namespace: string): void;
  /**
   * Retries as many of the objects that a quota rejected as now fit; objects that were rejected for
   * another reason keep their backoff.
   */
  retryWithin(namespace: string, relief: QuotaRelief): void;
}

/** The words in kube-apiserver's error about an exceeded quota. */
const quotaWords = "exceeded quota";
const accessRefusals: ReadonlySet<string> = new Set<Reason>(["AccessRejected", "ApplyFailed"]);

/** Finds the rejected objects of a namespace. */
export function createRefusedObjects({
  queues,
  stores,
  memory,
}: RefusedObjectsDeps): RefusedObjects {
  function retry(namespace: string, words: string, { secrets, access }: QuotaRelief): void {
    const targets =
      secrets === 0
        ? []
        : failedTargetsIn(namespace, memory).filter((target) =>
            failureAt("copy", target, memory)?.message.includes(words),
          );
    for (const target of targets.slice(0, secrets)) queues.copy.retry(target);
    const sources =
      access === 0
        ? []
        : stores.sharedSecrets
            .by(indexes.namespace, namespace)
            .filter(({ secret }) => refusalIn(secret.conditions)?.includes(words));
    for (const { secret } of sources.slice(0, access))
      queues.sharedSecret.retry(keyOf(secret.metadata));
  }
  return {
    retryAll: (namespace) => retry(namespace, "", { secrets: Infinity, access: Infinity }),
    retryWithin: (namespace, relief) => retry(namespace, quotaWords, relief),
  };
}

/** Why the Roles and RoleBindings of a SharedSecret could not be written, from its status. */
function refusalIn(conditions: readonly Condition[]): string | undefined {
  return conditions.find(
    ({ type, status, reason }) =>
      type === "AccessApplied" && status === "False" && accessRefusals.has(reason),
  )?.message;
}
