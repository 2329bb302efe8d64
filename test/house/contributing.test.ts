import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pathsIn, quotesIn, strayQuotes } from "./quoted-code.ts";

const repository = join(import.meta.dirname, "..", "..");
const page = readFileSync(join(repository, "CONTRIBUTING.md"), "utf8");
const files = execFileSync("git", ["ls-files", "-z", "src", "test"], {
  cwd: repository,
  encoding: "utf8",
})
  .split("\0")
  .filter((path) => path !== "");

/** Directories that contain files, in the notation of the file map. */
function directoriesOf(paths: readonly string[], room: RegExp): readonly string[] {
  return [...new Set(paths.flatMap((path) => room.exec(path)?.[0] ?? []))].toSorted();
}

const [, map = ""] = page.split("## Where things are");
const mapped = [...(map.split("\n## ")[0] ?? "").matchAll(/`((?:src|test)\/[\w/-]*\/)`/g)].map(
  ([, path = ""]) => path,
);

test("the map of CONTRIBUTING.md lists exactly the directories of src, of src/domain and of test", () => {
  const rooms = [/^src\/[^/]+\//, /^src\/domain\/[^/]+\//, /^test\/[^/]+\//];
  const directories = [...new Set(rooms.flatMap((room) => directoriesOf(files, room)))].toSorted();
  expect(directories).toContain("src/domain/scope/");
  expect(mapped.toSorted()).toEqual(directories);
});

test("CONTRIBUTING.md names only files and directories that exist", () => {
  const named = pathsIn(page);
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
});

test("CONTRIBUTING.md quotes lines that exist", () => {
  const [, section = ""] = page.split("## A way in\n");
  const [wayIn = ""] = section.split("\n## ");
  const named = pathsIn(wayIn);
  const sources = files
    .filter((path) => named.includes(path) || path.startsWith("test/specification/"))
    .map((path) => readFileSync(join(repository, path), "utf8"));
  expect(quotesIn(wayIn).length).toBeGreaterThan(10);
  expect(strayQuotes(wayIn, sources)).toEqual([]);
});
