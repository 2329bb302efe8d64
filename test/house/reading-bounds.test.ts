import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { clusterTime, readingBounds } from "../../src/api/reading-bounds.ts";

const page = readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8");
const [, section = ""] = page.split("bounded before it is parsed:\n\n");
const [list = ""] = section.split("\n\n");
/** The bounds of each item, such as `1 MiB, 100,000 values, 16 levels`. */
const items = list.split("\n").map((item) => item.slice(item.indexOf(": ") + 2).split(", "));

test("docs/security.md has each bound, in the order of the table", () => {
  const bounds = Object.values(readingBounds).map((bound) => ({ values: 0, depth: 0, ...bound }));
  expect(
    items.map(([bytes = "", ...others]) => {
      const levels = others.filter((other) => other.endsWith(" levels"));
      const parts = others.filter((other) => !other.endsWith(" levels"));
      return [bytes, parts.map(numberIn), levels.map(numberIn)];
    }),
  ).toEqual(
    bounds.map(({ bytes, values, depth }) => [
      sizeText(bytes),
      values === 0 ? [] : [values],
      depth === 0 ? [] : [depth],
    ]),
  );
});

test("docs/security.md has the share of a connected cluster", () => {
  expect(clusterTime.share).toBe(0.1);
  const text = section.replaceAll(/\s+/g, " ");
  expect(text).toContain("at most a tenth of the time of a gateway");
  expect(text).toContain(`saves up ${clusterTime.savedMs} ms`);
});

function sizeText(bytes: number): string {
  if (bytes >= 1024 * 1024) return `${bytes / 1024 / 1024} MiB`;
  return bytes >= 1024 ? `${bytes / 1024} KiB` : `${bytes} bytes`;
}

function numberIn(text: string): number {
  return Number(/^[\d,]*/.exec(text)?.[0].replaceAll(",", "") ?? 0);
}
