import { describe, expect, test } from "vitest";
import { sourceFiles } from "./source-files.ts";

const directory = "domain/sync/";
const files = sourceFiles.filter(({ path }) => path.startsWith(directory));
const map = files.find(({ text }) => text.startsWith("/*\n"));

/** The number in the map of each file that it names, and of its own file. */
const numbers = new Map(
  (map?.text.split("*/")[0] ?? "").split(/^ \* (?=\d\.)/m).flatMap((entry) => {
    const names = [...entry.matchAll(/[a-z-]+\.ts/g)].map(([name]) => `${directory}${name}`);
    const all = entry.includes("below") && map !== undefined ? [...names, map.path] : names;
    return all.map((path) => [path, Number.parseInt(entry, 10)] as const);
  }),
);

describe("the map at the beginning of a file of domain/sync", () => {
  test("names the other files", () => {
    expect([...numbers.keys()].sort()).toEqual(files.map(({ path }) => path));
  });

  test.each(files)("is the order in which files import each other: $path", ({ path, imports }) => {
    const later = imports.flatMap((found) =>
      found.kind === "ours" && (numbers.get(found.path) ?? 0) > (numbers.get(path) ?? 0)
        ? [found.path]
        : [],
    );
    expect(later).toEqual([]);
  });
});
