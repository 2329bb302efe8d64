/** A value at an instant, in any units. */
export interface Point {
  readonly at: number;
  readonly value: number;
}

/**
 * How much the value grows in one unit of `at`: the line that fits best by least squares; NaN where
 * no two instants differ.
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

/** The lowest point of each window that is `width` wide, in order; an empty window has none. */
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
