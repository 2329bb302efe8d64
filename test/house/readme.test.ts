import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const repository = join(import.meta.dirname, "..", "..");
const readme = readFileSync(join(repository, "README.md"), "utf8");
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

const mapped = [...readme.matchAll(/`((?:src|test)\/[\w/-]*\/)`/g)].map(([, path = ""]) => path);

test("README's file map lists exactly the directories of src, of src/domain and of test", () => {
  const rooms = [/^src\/[^/]+\//, /^src\/domain\/[^/]+\//, /^test\/[^/]+\//];
  const directories = [...new Set(rooms.flatMap((room) => directoriesOf(files, room)))].toSorted();
  expect(directories).toContain("src/domain/scope/");
  expect(mapped.toSorted()).toEqual(directories);
});
