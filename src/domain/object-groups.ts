import { type Condition, reasons } from "../api/conditions.ts";
import { troubleIn } from "./plan/events.ts";
import { numberAt, recordAt } from "../api/parse.ts";

/** The state of one condition of an object; the reason is one of {@link reasons}, or empty. */
export interface ObjectState {
  readonly condition: (typeof counted)[number];
  readonly status: Condition["status"];
  readonly reason: string;
}

const counted = ["Ready", "Synced", "Expiring"] as const;

/**
 * The states of an object: Ready (Unknown if no controller has set it), and Synced and Expiring if
 * the object has them.
 */
export function objectStates(conditions: readonly Condition[]): readonly ObjectState[] {
  return counted.flatMap((condition): readonly ObjectState[] => {
    const found = conditions.find(({ type }) => type === condition);
    if (found !== undefined)
      return [
        {
          condition,
          status: found.status,
          reason: knownReason(found),
        },
      ];
    return condition === "Ready" ? [{ condition, status: "Unknown", reason: "" }] : [];
  });
}

/**
 * Why an object is not ready or not synced, or an empty text for a reason that is not in the table;
 * undefined if it is well, if the reason is temporary or intended, or if its lifetime has ended.
 */
export function notReadyReason(conditions: readonly Condition[]): string | undefined {
  const trouble = troubleIn(conditions, ["Ready", "Synced"]);
  return trouble === undefined || trouble.reason === "Expired" ? undefined : knownReason(trouble);
}

function knownReason({ reason }: Pick<Condition, "reason">): string {
  return Object.hasOwn(reasons, reason) ? reason : "";
}

/** The number of targets of a SharedSecret in each state, from its status. */
export function syncTargetsOf(
  status: Readonly<Record<string, unknown>>,
): Readonly<Record<"synced" | "conflict" | "failed" | "pending", number>> {
  const sync = recordAt(status, "sync");
  const count = (field: string): number => Math.max(0, numberAt(sync, field) ?? 0);
  const [synced, conflict, failed] = [count("synced"), count("conflicts"), count("failed")];
  return {
    synced,
    conflict,
    failed,
    pending: Math.max(0, count("desired") - synced - conflict - failed),
  };
}
