import { expect, test } from "vitest";
import { isAtLength } from "../support/property-runs.ts";
import { repeatedParts, type TextReader, textReaders } from "./reading-costs.ts";
import { measurements, problemsOf } from "./slow-reading.ts";

/** Every third part, for readers that take long every twelfth, and all of them in `make verify`. */
function askedParts({ isSlow }: TextReader): readonly string[] {
  const every = isAtLength ? 1 : isSlow === true ? 12 : 3;
  return repeatedParts.filter((_part, index) => index % every === 0);
}

test.each(textReaders)(
  "$name is read in time that grows like its length",
  async (reader) => {
    expect(await problemsOf(reader, askedParts(reader))).toEqual([]);
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
