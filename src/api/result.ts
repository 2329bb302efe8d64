/**
 * The result of a reconcile: whether and when to requeue the object without a change; `at` is in
 * milliseconds since the epoch. `requeue-with-backoff` backs off as after a failure, and for at
 * least `atLeastMs` milliseconds, because something else has to change first.
 */
export type Result =
  | { readonly kind: "done" }
  | { readonly kind: "requeue-at"; readonly at: number }
  | { readonly kind: "requeue-with-backoff"; readonly atLeastMs?: number | undefined };
