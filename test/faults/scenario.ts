import type { Step } from "../support/actions.ts";
import type { View } from "../support/visible-objects.ts";
import type { ProgramName } from "./programs.ts";
import type { Admission, Use } from "./webhook-actions.ts";

/**
 * What happens while the programs run: requests that are sent together, time without a
 * controller, or the next second (which of two objects is older is decided by whole seconds).
 */
export type Change = Step | Interval | Use | Admission;

/** Time without requests of users: without any process, step by step, or all at once. */
export type Interval =
  | { readonly outageMs: number }
  | { readonly nextSecond: true }
  | { readonly passMs: number }
  | { readonly leapMs: number };

/** What a scenario may cost more, because users or a second replica try again after a failure. */
export interface RetryAllowance {
  /** The writes, as the ledger calls them. */
  readonly of: RegExp;
  readonly creates?: number;
  readonly updates?: number;
  readonly deletes?: number;
}

/** What happens to a cluster in a run. */
export interface Scenario {
  readonly name: string;
  /**
   * What runs; the controller alone by default. A fault before a change is injected into the last
   * one.
   */
  readonly programs?: readonly ProgramName[];
  readonly retryAllowance?: RetryAllowance;
  /** Made before the controller starts. */
  readonly grounds: (view: View) => Step;
  /** One after the other, each after everything has come to rest. */
  readonly changes: (view: View) => readonly Change[];
}

/** Whether a change is requests that are sent together. */
export function isStep(change: Change): change is Step {
  return Array.isArray(change);
}
