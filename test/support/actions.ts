import { type Ask, type Caller, patchTypes } from "./cluster-connection.ts";

/** A request of a test; it is repeated until the status code is one of `until`. */
export interface Action extends Ask {
  readonly by?: Caller;
  readonly until: readonly number[];
}

/** Requests that are sent together. */
export type Step = readonly Action[];

/** Members of this group may create keys and tokens. */
export const requesters = "requesters";

/** Creates an object. */
export function create(path: string, body: unknown, by: Caller = {}): Action {
  return { method: "POST", path, body, by, until: [201] };
}

/** Merges a change into an object. */
export function merge(path: string, body: unknown): Action {
  return { method: "PATCH", path, type: patchTypes.merge, body, until: [200] };
}

/** Deletes an object or a collection, if it exists. */
export function remove(path: string, propagationPolicy = "Background"): Action {
  return {
    method: "DELETE",
    path,
    body: { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy },
    until: [200, 202, 404],
  };
}

/** Waits until an object no longer exists. */
export function gone(path: string): Action {
  return { method: "GET", path, until: [404] };
}
