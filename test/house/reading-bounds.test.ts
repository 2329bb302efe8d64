import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { clusterTime, readingBounds } from "../../src/api/reading-bounds.ts";

const page = readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8");
const [, section = ""] = page.split("(`src/api/reading-bounds.ts`):");
const [table = ""] = section.trimStart().split("\n\n");
const rows = table
  .split("\n")
  .slice(2)
  .map((row) =>
    row
      .split("|")
      .slice(2, -1)
      .map((cell) => cell.trim()),
  );

test("docs/security.md has each bound, in the order of the table", () => {
  const bounds = Object.values(readingBounds).map((bound) => ({ values: 0, depth: 0, ...bound }));
  expect(
    rows.map(([bytes = "", parts = "", depth = ""]) => [bytes, numberIn(parts), depth]),
  ).toEqual(
    bounds.map(({ bytes, values, depth }) => [
      sizeText(bytes),
      values,
      depth ? String(depth) : "-",
    ]),
  );
});

test("docs/security.md has the share of a connected cluster", () => {
  expect(clusterTime.share).toBe(0.1);
  expect(section).toContain("at most a tenth of the time of a gateway");
  expect(section).toContain(`saves up ${clusterTime.savedMs} ms`);
});

function sizeText(bytes: number): string {
  if (bytes >= 1024 * 1024) return `${bytes / 1024 / 1024} MiB`;
  return bytes >= 1024 ? `${bytes / 1024} KiB` : String(bytes);
}

function numberIn(text: string): number {
  return Number(/^[\d,]*/.exec(text)?.[0].replaceAll(",", "") ?? 0);
}
