import type { NoAnswer } from "../support/fault-proxy.ts";
import type { ProxyAnswer } from "../support/proxy-messages.ts";
import type { Backend, InstanceOf } from "./backend.ts";
import type { ActiveFault, Call, Run } from "./run.ts";

/**
 * The additional or missing writes of one object that a fault may cause, compared with undisturbed
 * runs. `statuses` are additional status writes: a status reports progress over time; there may be
 * fewer, down to one, if a fault merges changes.
 */
export interface Allowance {
  readonly creates: number;
  readonly updates: number;
  readonly deletes: number;
  readonly statuses: number;
}

/** The default allowance of all faults. */
export const usualAllowance: Allowance = { creates: 0, updates: 0, deletes: 0, statuses: 3 };

/**
 * When a fault is injected: at the k-th write of a run (`of` restricts which writes count), at the
 * k-th read of a Secret with its data, or before one of the scenario's changes; all from 1.
 */
export type Moment =
  | { readonly at: "call"; readonly number: number; readonly of?: RegExp }
  | { readonly at: "read" | "change"; readonly number: number };

/** A kind of failure of a run on this backend. */
export interface Fault<B extends Backend> {
  readonly name: string;
  readonly moments: readonly Moment["at"][];
  readonly allowance: Allowance;
  /** Handles the request if the moment is a write or a read. */
  readonly call?: (call: Call<B>, run: Run<B>) => Promise<ProxyAnswer | NoAnswer>;
  /** Runs at a request, or before a change; the returned fault is active from then on. */
  readonly begin?: (
    instance: InstanceOf<B>,
    run: Run<B>,
  ) => ActiveFault<B> | Promise<ActiveFault<B>>;
  /** Whether earlier lists are recorded for it. */
  readonly needsLists?: boolean;
  /** A rejected Event is not sent again: the API server may have no capacity for it. */
  readonly losesEvents?: boolean;
}

/** Runs the work on the first call, and returns whether it ran. */
export function once(work: () => Promise<void>): () => Promise<boolean> {
  let isDone = false;
  return async () => {
    if (isDone) return false;
    isDone = true;
    await work();
    return true;
  };
}
