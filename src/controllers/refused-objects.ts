import type { Condition, Reason } from "../api/conditions.ts";
import { keyOf } from "../api/object.ts";
import type { QuotaRelief } from "../domain/sync/quota-relief.ts";
import { failureAt, type LeaderMemory } from "./memory.ts";
import type { Queues } from "./queues.ts";
import { indexes, type Stores } from "./stores.ts";

/** Where rejected Secrets, Roles and RoleBindings are found, and enqueued. */
interface RefusedObjectsContext {
  readonly queues: Pick<Queues, "sharedSecret" | "copy">;
  readonly stores: Pick<Stores, "sharedSecrets">;
  readonly memory: Pick<LeaderMemory, "failures" | "failedTargets">;
}

/** The words in kube-apiserver's error about an exceeded quota. */
const quotaWords = "exceeded quota";
const accessRefusals: ReadonlySet<string> = new Set<Reason>(["AccessRejected", "ApplyFailed"]);

/**
 * Retries all Secrets, Roles and RoleBindings of a namespace that the API server rejected: the cause
 * may have ended.
 */
export function retryRefused(namespace: string, context: RefusedObjectsContext): void {
  retry(namespace, { words: "", secrets: Infinity, access: Infinity }, context);
}

/**
 * Retries as many of the objects that a quota rejected as now fit; objects that were rejected for
 * another reason keep their backoff.
 */
export function retryWithin(
  namespace: string,
  relief: QuotaRelief,
  context: RefusedObjectsContext,
): void {
  retry(namespace, { ...relief, words: quotaWords }, context);
}

function retry(
  namespace: string,
  { words, secrets, access }: QuotaRelief & { readonly words: string },
  { queues, stores, memory }: RefusedObjectsContext,
): void {
  const targets =
    secrets === 0
      ? []
      : [...(memory.failedTargets.get(namespace) ?? [])].filter((target) =>
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

/** Why the Roles and RoleBindings of a SharedSecret could not be written, from its status. */
function refusalIn(conditions: readonly Condition[]): string | undefined {
  return conditions.find(
    ({ type, status, reason }) =>
      type === "AccessApplied" && status === "False" && accessRefusals.has(reason),
  )?.message;
}
