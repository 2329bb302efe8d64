import { performance } from "node:perf_hooks";
import { expect, test } from "vitest";
import { repeatedParts, type TextReader, textReaders } from "./reading-costs.ts";

/** What a text costs at most: so many times an ordinary one of its length, and one of half of it. */
const most = { ofOrdinary: 4, ofHalf: 3 };
/** Less than this is nothing. */
const leastMs = 0.02;
/** The length of 22 comment lines with CRLF, which an exponential pattern still reads to the end. */
const short = 66;
/** A busy machine only adds time, so the least of some attempts counts. */
const attempts = { usual: 3, ordinary: 20 };
/** How long a cost that is too high is measured again. */
const longestMs = 1_000;

test.each(textReaders)(
  "$name is read in time that grows like its length",
  async (reader) => {
    expect(await problemsOf(reader, repeatedParts)).toEqual([]);
  },
  600_000,
);

test.each<[string, string, (text: string) => unknown, RegExp]>([
  ["quadratic", "/", (text) => Array.from(text, () => text.split("")), /ms of half of it$/],
  ["exponential", "#\r\n", (text) => /^(?:(?:#.*\r?| *)\r?\n)*---/.test(text), /66 characters$/],
  ["slow for one part", "/", (text) => text.split("/").map(urlOf), /of an ordinary text$/],
])("what is %s is found", async (_what, part, read, problem) => {
  const found = await problemsOf({ name: "a text", most: 2_048, plain: "a", read }, [part]);
  expect(found).toContainEqual(expect.stringMatching(problem));
});

function urlOf(path: string): URL {
  return new URL(`a:${path}`);
}

async function problemsOf(
  reader: TextReader,
  parts: readonly string[],
): Promise<readonly string[]> {
  const half = Math.floor(reader.most / 2);
  const ordinary = await costOf(reader, textOf(reader, reader.plain, half), attempts.ordinary);
  const limit = most.ofOrdinary * Math.max(ordinary, leastMs);
  const problemOf = async (textWith: (length: number) => string): Promise<string | undefined> => {
    const begun = await costOf(reader, textWith(short), attempts.usual, limit);
    if (begun > limit) return `${begun} ms for ${short} characters`;
    const one = await costOf(reader, textWith(half), attempts.usual, limit);
    if (one > limit) return `${one} ms instead of ${ordinary} ms of an ordinary text`;
    const growth = most.ofHalf * Math.max(one, leastMs);
    const two = await costOf(reader, textWith(2 * half), attempts.usual, growth);
    return two > growth ? `${two} ms instead of ${one} ms of half of it` : undefined;
  };
  const problems: string[] = [];
  for (const part of parts) {
    // With a mark behind them, the parts are not at the end, where a pattern may look for them.
    for (const last of ["", "!"]) {
      const problem = await problemOf((length) => textOf(reader, part, length, last));
      if (problem !== undefined) problems.push(`${JSON.stringify(part + last)}: ${problem}`);
    }
  }
  return problems;
}

function textOf(
  { around: [begin, end] = ["", ""] }: TextReader,
  part: string,
  length: number,
  last = "",
): string {
  const times = Math.max(1, Math.floor((length - begin.length - end.length) / part.length));
  return begin + part.repeat(times) + last + end;
}

async function costOf(
  { read }: TextReader,
  text: string,
  least: number,
  enough = Number.POSITIVE_INFINITY,
): Promise<number> {
  const deadline = performance.now() + longestMs;
  let cost = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < least || cost > enough; attempt += 1) {
    const began = performance.now();
    await read(text);
    const ended = performance.now();
    cost = Math.min(cost, ended - began);
    if (ended > deadline) break;
  }
  return cost;
}
