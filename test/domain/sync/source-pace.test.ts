import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  changesOften,
  mostSourceChanges,
  newSourcePace,
  nextReading,
  type SourcePace,
  sourceChanged,
  sourceRead,
} from "../../../src/domain/sync/source-pace.ts";
import { runs } from "../../support/property-runs.ts";

const minute = 60_000;

/** A Secret that changes at these instants, and is read as soon as it may be after each change. */
function followed(changes: readonly number[]): readonly number[] {
  let pace: SourcePace = newSourcePace;
  const readings: number[] = [];
  let due: number | undefined;
  const readBefore = (end: number): void => {
    while (due !== undefined && due < end) {
      const at = due;
      readings.push(at);
      pace = sourceRead(pace, at);
      due = changesOften(pace) ? nextReading(pace) : undefined;
    }
  };
  for (const at of changes) {
    readBefore(at);
    pace = sourceChanged(pace, at);
    due = Math.max(at, nextReading(pace));
  }
  readBefore(Infinity);
  return readings;
}

const gaps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 900 }) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 8_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 200_000 }) },
  ),
  { minLength: 1, maxLength: 300 },
);

function instants(given: readonly number[]): readonly number[] {
  let at = 0;
  return given.map((gap) => (at += gap));
}

/** The readings in the minute that begins with each of them. */
function mostInAMinute(readings: readonly number[]): number {
  const counts = readings.map(
    (begin) => readings.filter((at) => at >= begin && at < begin + minute).length,
  );
  return Math.max(0, ...counts);
}

describe("the readings of a Secret", () => {
  test("are at most 20 for its changes in a minute, and those of the back-off", () => {
    fc.assert(
      fc.property(gaps, (given) => {
        // 20 without a pause, and those after 0, 5, 15 and 35 s of pauses.
        expect(mostInAMinute(followed(instants(given)))).toBeLessThanOrEqual(24);
      }),
      runs(600),
    );
  });

  test("have the latest value within a minute of the last change, and end", () => {
    fc.assert(
      fc.property(gaps, (given) => {
        const changes = instants(given);
        const readings = followed(changes);
        const last = changes.at(-1) ?? 0;
        const first = readings.find((at) => at >= last) ?? Infinity;
        expect(first - last).toBeLessThanOrEqual(minute);
        // Once the changes are older than a minute, the pause ends.
        expect((readings.at(-1) ?? 0) - last).toBeLessThanOrEqual(2 * minute);
        for (const change of changes)
          expect(readings.some((at) => at >= change && at <= change + minute)).toBe(true);
      }),
      runs(600),
    );
  });

  test("of a Secret that changes rarely follow each change at once", () => {
    const changes = Array.from({ length: 40 }, (_, at) => at * 3_100);
    expect(followed(changes)).toEqual(changes);
    const burst = Array.from({ length: 20 }, (_, at) => at);
    expect(followed(burst)).toEqual(burst);
  });

  test("of one that always changes wait twice as long each time, from 5 s to a minute", () => {
    const changes = Array.from({ length: 3_000 }, (_, at) => at * 100);
    const readings = followed(changes);
    const pauses = readings.map((at, index) => at - (readings[index - 1] ?? 0));
    expect(readings.slice(0, 21)).toEqual(changes.slice(0, 21));
    expect(pauses.slice(21, 28)).toEqual([5_000, 10_000, 20_000, 40_000, minute, minute, minute]);
  });
});

describe("the pace", () => {
  const often = (from: SourcePace, now: number) => {
    let pace = from;
    for (let count = 0; count <= mostSourceChanges.count; count += 1)
      pace = sourceChanged(pace, now);
    return sourceRead(pace, now);
  };

  test("lets a Secret of which nothing is known be read at once", () => {
    expect(nextReading(newSourcePace)).toBe(-Infinity);
    expect(changesOften(newSourcePace)).toBe(false);
    expect(nextReading(sourceChanged(newSourcePace, 5))).toBe(-Infinity);
  });

  test("remembers no more changes than it needs, and none of more than a minute ago", () => {
    let pace = newSourcePace;
    for (let at = 0; at < 100; at += 1) pace = sourceChanged(pace, at);
    expect(pace.changes).toHaveLength(mostSourceChanges.count + 1);
    expect(sourceRead(pace, 99 + minute).changes).toEqual([]);
  });

  test("begins again at 5 s after a quiet minute", () => {
    const first = often(newSourcePace, 0);
    const second = often(first, 5_000);
    expect([first.pauseMs, second.pauseMs]).toEqual([5_000, 10_000]);
    const quiet = sourceRead(second, 5_000 + minute);
    expect([quiet.pauseMs, changesOften(quiet)]).toEqual([0, false]);
    expect(often(quiet, 200_000).pauseMs).toBe(5_000);
  });
});
