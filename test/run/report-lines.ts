/** A test that did not run. */
export interface Skipped {
  /** Its file, below the project. */
  readonly file: string;
  readonly name: string;
  readonly reason: string;
}

/** What a run of the tests did. */
export interface RanTests {
  readonly skipped: readonly Skipped[];
  /** Each failure in words. */
  readonly failed: readonly string[];
  readonly passed: number;
  /** Lines `<file>: <reason>`, and comments that begin with `#`. */
  readonly expected: string;
}

/** The report of a run: its lines, those of tests that may not be skipped, and the counts. */
export function reportLines({ skipped, failed, passed, expected }: RanTests): {
  readonly lines: readonly string[];
  readonly unexpected: readonly string[];
  readonly counts: string;
} {
  const known = new Set(expected.split("\n"));
  const counts = new Map<string, number>();
  for (const { reason } of skipped) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const reasons = [...counts].toSorted(([, one], [, other]) => other - one);
  return {
    lines: [
      ...failed.map((failure) => `failed: ${failure}`),
      ...reasons.map(([reason, count]) => `skipped ${count}: ${reason}`),
    ],
    unexpected: skipped
      .filter(({ file, reason }) => !known.has(`${file}: ${reason}`))
      .map(
        ({ file, name, reason }) =>
          `failed: ${file} > ${name} is skipped (${reason}), which test/support/expected-skips.txt lacks`,
      ),
    counts: `${passed} passed, ${failed.length} failed, ${skipped.length} skipped`,
  };
}
