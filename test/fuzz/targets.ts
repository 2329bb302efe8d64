import { edgeTargets } from "./edge-targets.ts";
import { guardTargets } from "./guard-targets.ts";
import { reviewTargets } from "./review-targets.ts";
import { scopeTargets } from "./scope-targets.ts";
import type { Target } from "./target.ts";
import { textTargets } from "./text-targets.ts";

/** Everything that is fuzzed. */
export const targets: readonly Target[] = [
  ...edgeTargets,
  ...guardTargets,
  ...reviewTargets,
  ...scopeTargets,
  ...textTargets,
];
