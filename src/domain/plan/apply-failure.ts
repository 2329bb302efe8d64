import type { ConditionUpdate } from "../../api/conditions.ts";
import { reconciling, timestamp } from "./conditions.ts";
import type { ReportedFailure } from "./failure-history.ts";

const longestError = 512;

/** The message of ApplyFailed: since when, why, and what to do. */
export function applyFailureSentence({ message, since }: ReportedFailure): string {
  const error =
    message.length <= longestError ? message : `${message.slice(0, longestError - 3)}...`;
  return (
    `Applying this object has failed since ${timestamp(since)}: ${error}.` +
    " Latchkey retries at least once a minute. Check the API server, and the admission webhook, policy or quota that the error names."
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
