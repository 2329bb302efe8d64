import type { Action, Step } from "../support/actions.ts";
import type { Answer } from "../support/cluster-connection.ts";
import type { View } from "../support/visible-objects.ts";
import type { ProgramName } from "./programs.ts";
import type { Admission, Use } from "./key-actions.ts";

/**
 * A change while the programs run: requests that are sent in parallel, time without a controller,
 * or the next second (creation timestamps, which decide which object is older, have whole seconds).
 */
export type Change = Step | Interval | Use | Admission | WithObject;

/** Requests that say something of the object at this path, as it is by then. */
export interface WithObject {
  readonly withObject: string;
  readonly step: (metadata: Answer["metadata"]) => Step;
}

/** Time without requests of users: without any process, step by step, or at once. */
export type Interval =
  | { readonly outageMs: number }
  | { readonly nextSecond: true }
  | { readonly passMs: number }
  | { readonly leapMs: number };

/** Additional writes of a scenario, because users or a second replica retry after a failure. */
export interface RetryAllowance {
  /** The writes, in the format of the ledger. */
  readonly of: RegExp;
  readonly creates?: number;
  readonly updates?: number;
  readonly deletes?: number;
}

/** The changes of a cluster in a run. */
export interface Scenario {
  readonly name: string;
  /**
   * The programs that run; only the controller by default. A fault before a change is injected into
   * the last one.
   */
  readonly programs?: readonly ProgramName[];
  readonly retryAllowance?: RetryAllowance;
  /** Created before the controller starts, one after the other. */
  readonly grounds: (view: View) => readonly (Action | WithObject)[];
  /** Made one after the other, each after the system has become idle. */
  readonly changes: (view: View) => readonly Change[];
}

/** Whether a change consists of requests that are sent in parallel. */
export function isStep(change: Change): change is Step {
  return Array.isArray(change);
}
