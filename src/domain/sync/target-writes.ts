import { copiedSource } from "./copy.ts";
import { existingAt, type ObservedTarget } from "./observed-target.ts";
import { effectOf, isToRemove, rejectedSteps, type TargetState } from "./state-table.ts";
import { emptyingSteps, removalSteps, type Steps } from "./target-steps.ts";

/** What may be written at targets now; `why` is a sentence without a period. */
export type TargetWrites =
  | { readonly kind: "all" }
  /** Nothing is created or replaced, and data that may not stay is removed. */
  | { readonly kind: "removals"; readonly why: string }
  /** Every copy is removed, whatever its source says. */
  | { readonly kind: "remove-all"; readonly why: string };

/** The writes at a target instead of those for its state; undefined if those are allowed. */
export function limitedSteps(
  state: TargetState,
  observed: ObservedTarget,
  writes: TargetWrites,
): Steps | undefined {
  switch (writes.kind) {
    case "all":
      return undefined;
    case "removals": {
      const effect = effectOf(state);
      if (effect !== "create" && effect !== "replace") return undefined;
      return isToRemove(state) ? rejectedSteps(state, writes.why) : [];
    }
    case "remove-all": {
      if (observed.isTerminating) return undefined;
      const copy = existingAt(observed);
      const isCopy = copy !== undefined && copiedSource(copy.metadata) !== undefined;
      return isCopy ? removalSteps({ copy, why: writes.why }) : [];
    }
  }
}

/** The writes once the API server has not deleted a Secret: data that may not stay is removed. */
export function undeletedSteps(
  state: TargetState,
  observed: ObservedTarget,
  writes: TargetWrites,
): Steps | undefined {
  const copy = existingAt(observed);
  if (copy === undefined || !(isToRemove(state) || writes.kind === "remove-all")) return undefined;
  return emptyingSteps(copy);
}
