/**
 * When to reconcile an object again without a change of it; `at` is in milliseconds since the
 * epoch. `requeue-with-backoff` waits longer each time, as after a failure: something else has to
 * change first.
 */
export type Result =
  | { readonly kind: "done" }
  | { readonly kind: "requeue-at"; readonly at: number }
  | { readonly kind: "requeue-with-backoff" };
