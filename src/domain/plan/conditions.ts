import type { Condition, ConditionUpdate } from "../../api/conditions.ts";

const longestMessage = 1024;

/**
 * The conditions of a status after this pass: exactly the claimed ones, sorted by type.
 * `lastTransitionTime` moves only when the status flips (Kubernetes API conventions, "Typical
 * status properties"). `now` is in milliseconds since the epoch.
 */
export function mergeConditions(
  existing: readonly Condition[],
  updates: readonly ConditionUpdate[],
  { generation, now }: { readonly generation: number; readonly now: number },
): readonly Condition[] {
  return updates
    .map((update) => {
      const previous = existing.find((condition) => condition.type === update.type);
      const kept = previous !== undefined && previous.status === update.status;
      return {
        ...update,
        message: shorten(update.message),
        observedGeneration: generation,
        lastTransitionTime: kept ? previous.lastTransitionTime : timestamp(now),
      };
    })
    .sort((one, other) => (one.type < other.type ? -1 : 1));
}

/**
 * Ready=False with Stalled=True: neither time nor Latchkey can mend it (kstatus reads it as
 * Failed).
 */
export function stalled(
  reason: ConditionUpdate["reason"],
  message: string,
): readonly ConditionUpdate[] {
  return [
    { type: "Ready", status: "False", reason, message },
    { type: "Stalled", status: "True", reason, message },
  ];
}

/**
 * Ready=False with Reconciling=True: time or Latchkey mends it (kstatus reads it as InProgress).
 */
export function reconciling(
  reason: ConditionUpdate["reason"],
  message: string,
): readonly ConditionUpdate[] {
  return [
    { type: "Ready", status: "False", reason, message },
    { type: "Reconciling", status: "True", reason, message },
  ];
}

/** RFC 3339 in UTC with whole seconds, the form of metav1.Time; `ms` is since the epoch. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

function shorten(message: string): string {
  return message.length <= longestMessage ? message : `${message.slice(0, longestMessage - 3)}...`;
}
