import type { Condition, ConditionUpdate } from "../../api/conditions.ts";
import { withoutMiddle } from "../../api/text-end.ts";
import type { ReportedFailure } from "./failure-history.ts";

const longestMessage = 1024;

/**
 * Merges updates into the existing conditions: the result has exactly the types of the updates,
 * sorted. `lastTransitionTime` changes only with the status (Kubernetes API conventions, "Typical
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
        message: withoutMiddle(update.message, longestMessage),
        observedGeneration: generation,
        lastTransitionTime: kept ? previous.lastTransitionTime : timestamp(now),
      };
    })
    .sort((one, other) => (one.type < other.type ? -1 : 1));
}

/** Ready=False with Stalled=True: requires a change to the spec (kstatus: Failed). */
export function stalled(
  reason: ConditionUpdate["reason"],
  message: string,
): readonly ConditionUpdate[] {
  return [
    { type: "Ready", status: "False", reason, message },
    { type: "Stalled", status: "True", reason, message },
  ];
}

/** Ready=False with Reconciling=True: Latchkey is still working on it (kstatus: InProgress). */
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

const longestError = 512;

/** The message of ApplyFailed: since when, why, and what to do. */
export function applyFailureSentence({ message, since }: ReportedFailure): string {
  const error = withoutMiddle(message, longestError);
  return (
    `Applying this object has failed since ${timestamp(since)}: ${error}.` +
    " Latchkey retries at least once a minute. Check the API server, " +
    "and the admission webhook, policy or quota that the error names."
  );
}

/**
 * The conditions while applying the object fails: Ready=False with reason ApplyFailed and
 * Reconciling=True. A Stalled condition keeps its reason, and the failure is added to its message.
 */
export function withApplyFailure(
  updates: readonly ConditionUpdate[],
  failure: ReportedFailure | undefined,
): readonly ConditionUpdate[] {
  const ready = updates.find(({ type }) => type === "Ready");
  if (failure === undefined || ready === undefined) return updates;
  const message = `${ready.message} ${applyFailureSentence(failure)}`;
  const isStalled = updates.some(({ type }) => type === "Stalled");
  if (isStalled)
    return updates.map((update) =>
      update.type === "Ready" || update.type === "Stalled" ? { ...update, message } : update,
    );
  const others = updates.filter(({ type }) => type !== "Ready" && type !== "Reconciling");
  return [...reconciling("ApplyFailed", message), ...others];
}
