import { expect, test } from "vitest";
import { repeatedParts, textReaders } from "../fuzz/reading-costs.ts";
import { measurements, problemsOf } from "../fuzz/slow-reading.ts";

test.each(textReaders)(
  "$name is read in time that grows like its length",
  async (reader) => {
    expect(await problemsOf(reader, repeatedParts)).toEqual([]);
  },
  600_000,
);

test.each<[string, string, number, (text: string) => unknown, RegExp]>([
  ["quadratic", "/", 2_048, (text) => Array.from(text, () => text.split("")), /ms of half of it$/],
  [
    "exponential",
    "#\r\n",
    2_048,
    (text) => /^(?:(?:#.*\r?| *)\r?\n)*---/.test(text),
    /66 characters$/,
  ],
  ["slow for one part", "/", 16_384, (text) => text.split("/").map(urlOf), /of an ordinary text$/],
])("what is %s is found", async (_what, part, most, read, problem) => {
  const reader = { name: "a text", most, plain: "a", read };
  const found = await problemsOf(reader, [part], measurements.slice(0, 3));
  expect(found).toContainEqual(expect.stringMatching(problem));
});

function urlOf(path: string): URL {
  return new URL(`a:${path}`);
}
