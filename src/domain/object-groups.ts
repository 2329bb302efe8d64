import { type Condition, reasons } from "../api/conditions.ts";
import { numberAt, recordAt } from "../api/parse.ts";

/** The state of one condition of an object; the reason is one of {@link reasons}, or empty. */
export interface ObjectState {
  readonly condition: "Ready" | "Synced";
  readonly status: Condition["status"];
  readonly reason: string;
}

const counted = ["Ready", "Synced"] as const;

/**
 * The states of an object: Ready (Unknown if no controller has set it), and Synced if the object
 * has it.
 */
export function objectStates(conditions: readonly Condition[]): readonly ObjectState[] {
  return counted.flatMap((condition): readonly ObjectState[] => {
    const found = conditions.find(({ type }) => type === condition);
    if (found !== undefined)
      return [
        {
          condition,
          status: found.status,
          reason: Object.hasOwn(reasons, found.reason) ? found.reason : "",
        },
      ];
    return condition === "Ready" ? [{ condition, status: "Unknown", reason: "" }] : [];
  });
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
