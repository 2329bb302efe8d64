/** A value at a time, in any units. */
export interface Point {
  readonly at: number;
  readonly value: number;
}

/**
 * The increase of the value per unit of `at`: the best line by least squares; NaN if all times are
 * the same.
 */
export function slopeOf(points: readonly Point[]): number {
  const meanAt = mean(points.map(({ at }) => at));
  const meanValue = mean(points.map(({ value }) => value));
  const together = points.reduce(
    (sum, { at, value }) => sum + (at - meanAt) * (value - meanValue),
    0,
  );
  return together / points.reduce((sum, { at }) => sum + (at - meanAt) ** 2, 0);
}

/** The lowest point of each window of this width, in order; none for an empty window. */
export function lowsOf(points: readonly Point[], width: number): readonly Point[] {
  const lows = new Map<number, Point>();
  for (const point of points) {
    const window = Math.floor(point.at / width);
    const lowest = lows.get(window);
    if (lowest === undefined || point.value < lowest.value) lows.set(window, point);
  }
  return [...lows.values()];
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
