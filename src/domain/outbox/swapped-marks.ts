/** Swaps the marks of a raw Secret, or of the body of a write of one, for the agent of `cluster`. */
export function swappedMarks(raw: unknown, _cluster: string): unknown {
  return raw;
}

/** Swaps the labels in a label selector. */
export function swappedSelector(selector: string): string {
  return selector;
}
