import { copiedSource } from "./copy.ts";
import { existingAt, type ObservedTarget } from "./observed-target.ts";
import { effectOf, rejectedSteps, type TargetState } from "./state-table.ts";
import { removalSteps, type Steps } from "./target-steps.ts";

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
      const isRevoked = "hasWithdrawnData" in state && state.hasWithdrawnData === true;
      return isRevoked ? rejectedSteps(state, writes.why) : [];
    }
    case "remove-all": {
      const copy = existingAt(observed);
      const isCopy = copy !== undefined && copiedSource(copy.metadata) !== undefined;
      return isCopy && !observed.isTerminating ? removalSteps({ copy, why: writes.why }) : [];
    }
  }
}
