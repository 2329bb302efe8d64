import type { Condition, Reason } from "../api/conditions.ts";
import { keyOf } from "../api/object.ts";
import type { QuotaRelief } from "../domain/sync/quota-relief.ts";
import type { WorkQueue } from "../kube/queue.ts";
import { indexes, type Stores } from "./stores.ts";
import type { TargetFailures } from "./target-failures.ts";

/** What finds what was refused in a namespace. */
export interface RefusedObjectsDeps {
  readonly queues: {
    readonly sharedSecret: Pick<WorkQueue, "retry">;
    readonly copy: Pick<WorkQueue, "retry">;
  };
  readonly stores: Pick<Stores, "sharedSecrets">;
  readonly copyFailures: Pick<TargetFailures, "in" | "at">;
}

/**
 * Copies, Roles and RoleBindings that were refused, and are tried again at once when what refused
 * them may let them in.
 */
export interface RefusedObjects {
  /** Tries all that was refused in a namespace. */
  retryAll(namespace: string): void;
  /**
   * Tries as much of what a quota refused as now has room: what was refused for another reason
   * waits for its time.
   */
  retryWithin(namespace: string, relief: QuotaRelief): void;
}

/** How kube-apiserver's quota admission begins to say which quota is full. */
const quotaWords = "exceeded quota";
const accessRefusals: ReadonlySet<string> = new Set<Reason>(["AccessRefused", "ApplyFailed"]);

/** Finds what was refused in a namespace. */
export function createRefusedObjects({
  queues,
  stores,
  copyFailures,
}: RefusedObjectsDeps): RefusedObjects {
  function retry(namespace: string, words: string, { secrets, access }: QuotaRelief): void {
    const targets =
      secrets === 0
        ? []
        : copyFailures
            .in(namespace)
            .filter((target) => copyFailures.at(target)?.message.includes(words));
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

/** Why the Roles and RoleBindings of a SharedSecret could not be written, as its status says it. */
function refusalIn(conditions: readonly Condition[]): string | undefined {
  return conditions.find(
    ({ type, status, reason }) =>
      type === "AccessApplied" && status === "False" && accessRefusals.has(reason),
  )?.message;
}
