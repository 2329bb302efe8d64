/**
 * The smallest value that at least the share `p` (0 to 1) of all values does not exceed (nearest
 * rank); NaN without values.
 */
export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? Number.NaN;
}

/** The middle value, the lower of two; NaN without values. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}
