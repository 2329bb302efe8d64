import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../support/install.ts";

const read = (path: string): string => readFileSync(join(repository, path), "utf8");
const rooms = readdirSync(join(repository, "src"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => `src/${name}/`)
  .toSorted();

/** The area of each directory, as MAINTAINERS.md says it. */
const areas = [...read("MAINTAINERS.md").matchAll(/^\| ([\w ]+?) +\| (`.+?`) +\|/gm)].flatMap(
  ([, area = "", cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, directory = ""]) => ({
      directory,
      area: area.toLowerCase().replaceAll(" ", "-"),
    })),
);

/** The team of each directory, as CODEOWNERS says it, also in a comment. */
const owned = [
  ...read(".github/CODEOWNERS").matchAll(/^(?:# )?\/(\S+\/) +@<organization>\/(\S+)$/gm),
].map(([, directory = "", area = ""]) => ({ directory, area }));

test("MAINTAINERS.md has each directory of src in one area", () => {
  const named = areas.map(({ directory }) => directory);
  expect(named.filter((directory) => directory.startsWith("src/")).toSorted()).toEqual(rooms);
  expect(new Set(named).size).toBe(named.length);
});

test("CODEOWNERS has the directories of MAINTAINERS.md, each with its area", () => {
  const sorted = (list: typeof areas): readonly string[] =>
    list.map(({ directory, area }) => `${directory} ${area}`).toSorted();
  expect(sorted(owned)).toEqual(sorted(areas));
});

test("CODEOWNERS names no owner while MAINTAINERS.md names no maintainer", () => {
  const [, table = ""] = /^\| name .*\n\| -.*\n((?:\|.*\n)*)/m.exec(read("MAINTAINERS.md")) ?? [];
  const active = read(".github/CODEOWNERS").match(/^[^#\s].*$/gm) ?? [];
  expect(active.length > 0).toBe(table !== "");
});
