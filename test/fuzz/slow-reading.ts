import assert from "node:assert/strict";
import fc from "fast-check";
import { hostileWord } from "./hostile.ts";
import { leastCost, repeatedParts, textOf, type TextReader, textReaders } from "./reading-costs.ts";
import type { Target } from "./target.ts";

/** What a text costs at most: so many times an ordinary one of its length, and one of half of it. */
const most = { ofOrdinary: 4, ofHalf: 3 };
/** Less than this is nothing: text that is not ASCII takes up to seven times as long to decode. */
const leastMs = 0.2;
/** The length of 22 comment lines with CRLF, which an exponential pattern still reads to the end. */
const short = 66;
/** A busy machine only adds time, so the least of some attempts counts. */
const attempts = 3;
/** The processor time over which a cost that is too high is measured again: 15 ticks of Linux. */
const confirmingMs = 60;

/**
 * A problem is one by each of these: other work of the machine makes one of a few of them. The
 * first one is cheap, and finds the suspects.
 */
export const measurements = [
  { costOf: (reader: TextReader, text: string) => leastCost(reader, text, 1), isWall: true },
  { costOf: (reader: TextReader, text: string) => leastCost(reader, text, attempts), isWall: true },
  ...Array.from({ length: 3 }, () => ({ costOf: processorCost, isWall: false })),
];
type Measurement = (typeof measurements)[number];

/** What a reader reads too slowly, of each part that is repeated. */
export async function problemsOf(
  reader: TextReader,
  parts: readonly string[],
  by = measurements,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const part of parts) {
    // With a mark behind them, the parts are not at the end, where a pattern may look for them.
    for (const last of ["", "!"]) {
      const textWith = (length: number): string => textOf(reader, part, length, last);
      let problem: string | undefined;
      for (const measurement of by) {
        problem = await problemOf(reader, textWith, measurement);
        if (problem === undefined) break;
      }
      if (problem !== undefined) problems.push(`${JSON.stringify(part + last)}: ${problem}`);
    }
  }
  return problems;
}

async function problemOf(
  reader: TextReader,
  textWith: (length: number) => string,
  measurement: Measurement,
): Promise<string | undefined> {
  const { costOf } = measurement;
  const half = Math.floor(reader.most / 2);
  const ordinary = await ordinaryCost(reader, half, measurement);
  const limit = most.ofOrdinary * Math.max(ordinary, leastMs);
  const begun = await costOf(reader, textWith(short));
  if (begun > limit) return `${begun} ms for ${short} characters`;
  const one = await costOf(reader, textWith(half));
  if (one > limit) return `${one} ms instead of ${ordinary} ms of an ordinary text`;
  const growth = most.ofHalf * Math.max(one, leastMs);
  const two = await costOf(reader, textWith(2 * half));
  return two > growth ? `${two} ms instead of ${one} ms of half of it` : undefined;
}

const known = new Map<TextReader, number>();

/** What an ordinary text costs; in wall time, what it cost when it was measured first. */
async function ordinaryCost(
  reader: TextReader,
  length: number,
  { costOf, isWall }: Measurement,
): Promise<number> {
  const text = textOf(reader, reader.plain, length);
  if (!isWall) return costOf(reader, text);
  const cost = known.get(reader) ?? (await leastCost(reader, text, attempts));
  known.set(reader, cost);
  return cost;
}

/**
 * The least of three means of the processor time of this thread, in milliseconds, each over many
 * attempts, because Linux may count it by ticks of 4 ms.
 */
async function processorCost({ read }: TextReader, text: string): Promise<number> {
  let cost = Number.POSITIVE_INFINITY;
  for (let round = 0; round < attempts; round += 1) {
    const began = processorMs();
    let times = 0;
    while (times === 0 || processorMs() - began < confirmingMs) {
      await read(text);
      times += 1;
    }
    cost = Math.min(cost, (processorMs() - began) / times);
  }
  return cost;
}

function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

const slowPart = fc
  .array(fc.oneof(fc.constantFrom(...repeatedParts), hostileWord), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join("") || "a");

/** Looks for texts that are read slowly; what it measures is disturbed by other tests. */
export const slowReading: Target = {
  name: "slow: no repeated text is read in time that grows faster than its length",
  property: () =>
    fc.asyncProperty(fc.constantFrom(...textReaders), slowPart, async (reader, part) =>
      assert.deepEqual([reader.name, await problemsOf(reader, [part])], [reader.name, []]),
    ),
};
