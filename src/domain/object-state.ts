import { type Condition, reasons } from "../api/conditions.ts";
import { numberAt, recordAt } from "../api/parse.ts";
import type { TargetState } from "../api/report.ts";
import { troubleIn } from "./plan/events.ts";
import { conflictReasons } from "./sync/outcome.ts";

/**
 * The state of an object, by the same words in metrics, alerts and `kubectl latchkey status`.
 * `waiting` is for the controller, a grant or a deletion; `expiring` is ready and ends soon.
 */
export interface ObjectState {
  readonly state: "ready" | "not-ready" | "waiting" | "expiring" | "expired" | "unknown";
  readonly reason: string;
  readonly message: string;
}

/** What is said about an object whose status is not of its current generation. */
export const notObserved = {
  reason: "NotObserved",
  sentence: "the controller has not seen this generation; run kubectl latchkey check.",
} as const;

/**
 * The state of an object; `isObserved` is whether the conditions are of its current generation, and
 * `endsSoon` whether its lifetime ends within what the user calls soon. It is not ready or expired
 * also before its current generation is observed, as in metrics, which count conditions.
 */
export function objectState(
  conditions: readonly Condition[],
  { isObserved = true, endsSoon = false } = {},
): ObjectState {
  const trouble = troubleIn(conditions, ["Ready", "Synced"]);
  const ready = conditions.find(({ type }) => type === "Ready");
  const said = trouble ?? ready;
  if (said === undefined || said.status === "Unknown" || (trouble === undefined && !isObserved))
    return { state: "unknown", reason: notObserved.reason, message: notObserved.sentence };
  const { reason, message } = said;
  if (trouble !== undefined)
    return { state: reason === "Expired" ? "expired" : "not-ready", reason, message };
  if (said.status === "False") return { state: "waiting", reason, message };
  const isExpiring = ({ type, status }: Condition) => type === "Expiring" && status === "True";
  return endsSoon || conditions.some(isExpiring)
    ? { state: "expiring", reason: "Expiring", message }
    : { state: "ready", reason, message };
}

/** A reason as the label of a metric: empty for one that is not in the table. */
export function reasonLabel(reason: string): string {
  return Object.hasOwn(reasons, reason) ? reason : "";
}

const counted = ["Ready", "Synced", "Expiring"] as const;

/**
 * The conditions of an object that metrics count: Ready (Unknown if no controller has set it), and
 * Synced and Expiring if the object has them; each reason as its {@link reasonLabel}.
 */
export function countedConditions(conditions: readonly Condition[]) {
  return counted.flatMap((condition) => {
    const found = conditions.find(({ type }) => type === condition);
    if (found === undefined && condition !== "Ready") return [];
    const { status, reason } = found ?? { status: "Unknown" as const, reason: "" };
    return [{ condition, status, reason: reasonLabel(reason) }];
  });
}

/** The number of targets of a SharedSecret in each state, from its status. */
export function targetCounts(
  status: Readonly<Record<string, unknown>>,
): Readonly<Record<TargetState, number>> {
  const sync = recordAt(status, "sync");
  const count = (field: string): number => Math.max(0, numberAt(sync, field) ?? 0);
  const [synced, conflict, failed] = [count("synced"), count("conflicts"), count("failed")];
  const pending = Math.max(0, count("desired") - synced - conflict - failed);
  return { synced, conflict, failed, pending };
}

/** The numbers of targets as a text, such as `1 of 2 targets synced, 1 conflict`. */
export function targetsText({ synced, ...others }: ReturnType<typeof targetCounts>): string {
  const left = Object.entries(others).filter(([, count]) => count > 0);
  const all = left.reduce((sum, [, count]) => sum + count, synced);
  return [
    `${synced} of ${all} targets synced`,
    ...left.map(([state, count]) => `${count} ${state}`),
  ].join(", ");
}

/** The state of a target that `status.sync.failures` lists with this reason. */
export function failedTargetState(reason: string): TargetState {
  return Object.values<string>(conflictReasons).includes(reason) ? "conflict" : "failed";
}
