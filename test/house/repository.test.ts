import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const tracked = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" })
  .split("\0")
  .filter((path) => path !== "");

/** Joined from parts, so that this file does not contain what it searches for. */
const strayPaths = [["", "work", ""].join("/"), ["..", "shared", ""].join("/")];
const registry =
  /\bregistry\.[a-z0-9-]+\.[a-z]+|\bproxy\.golang\.org|\/repository\/npm|"resolved":/;

function places(paths: readonly string[], isStray: (line: string) => boolean): readonly string[] {
  return paths.flatMap((path) =>
    linesOf(path).flatMap((line, index) => (isStray(line) ? [`${path}:${index + 1}`] : [])),
  );
}

function linesOf(path: string): readonly string[] {
  try {
    return readFileSync(new URL(path, `file://${root}`), "utf8").split("\n");
  } catch {
    // Deleted, and not committed yet.
    return [];
  }
}

test("no file names a path outside of the project", () => {
  expect(tracked).toContain("package.json");
  expect(places(tracked, (line) => strayPaths.some((path) => line.includes(path)))).toEqual([]);
});

test("no file names the host of a package registry", () => {
  const others = tracked.filter((path) => path !== "test/house/repository.test.ts");
  expect(places(others, (line) => registry.test(line))).toEqual([]);
  expect(
    registry.test(`"resolved": "https://${["registry", "example", "org"].join(".")}/a.tgz"`),
  ).toBe(true);
});
