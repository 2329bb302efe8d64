import type { NoAnswer } from "../support/fault-proxy.ts";
import type { ProxyAnswer } from "../support/proxy-messages.ts";
import type { Backend, InstanceOf } from "./backend.ts";
import type { ActiveFault, Call, Run } from "./run.ts";

/**
 * How many more or fewer writes of one object a fault may cause than the undisturbed runs.
 * `statuses` are more status writes: a status reports progress by the clock, and fewer may come,
 * down to one, where a fault brings changes together.
 */
export interface Allowance {
  readonly creates: number;
  readonly updates: number;
  readonly deletes: number;
  readonly statuses: number;
}

/** What all faults may cause unless one says otherwise. */
export const usualAllowance: Allowance = { creates: 0, updates: 0, deletes: 0, statuses: 3 };

/**
 * When a fault is injected: at the k-th write of a run (`of` counts only some), or before one of
 * the scenario's changes; both from 1.
 */
export type Moment =
  | { readonly at: "call"; readonly number: number; readonly of?: RegExp }
  | { readonly at: "change"; readonly number: number };

/** A kind of failure that runs on this backend can have. */
export interface Fault<B extends Backend> {
  readonly name: string;
  readonly moments: readonly Moment["at"][];
  readonly allowance: Allowance;
  /** What is injected when the moment is a write. */
  readonly call?: (call: Call<B>, run: Run<B>) => Promise<ProxyAnswer | NoAnswer>;
  /** What is injected beside a write, or before a change; what it answers goes on from then on. */
  readonly begin?: (
    instance: InstanceOf<B>,
    run: Run<B>,
  ) => ActiveFault<B> | Promise<ActiveFault<B>>;
  /** Lists of an earlier time are kept for it. */
  readonly needsLists?: boolean;
  /** An Event that is refused is not sent again: the API server may have no room for it. */
  readonly losesEvents?: boolean;
}

/** Does the work the first time it is asked to, and says whether it did. */
export function once(work: () => Promise<void>): () => Promise<boolean> {
  let isDone = false;
  return async () => {
    if (isDone) return false;
    isDone = true;
    await work();
    return true;
  };
}
