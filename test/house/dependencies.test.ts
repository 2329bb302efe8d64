import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { isRecord, recordAt, stringAt } from "../../src/api/parse.ts";

const root = new URL("../../", import.meta.url);
const page = readFileSync(new URL("docs/contributing/dependencies.md", root), "utf8");
const lock: unknown = JSON.parse(readFileSync(new URL("package-lock.json", root), "utf8"));
const packages = recordAt(lock, "packages");
const manifest: unknown = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
const production = Object.keys(recordAt(manifest, "dependencies"));
const names = [...production, ...Object.keys(recordAt(manifest, "devDependencies"))];
const rows = [...page.matchAll(/^\| `([^`]+)` +\| .+? \| +(\d+) \| +(\d+) \|/gm)].map(
  ([, name = "", count, alone]) => ({ name, count: Number(count), alone: Number(alone) }),
);

describe("docs/contributing/dependencies.md", () => {
  test("has a row for every dependency of package.json, in its order, and no other row", () => {
    expect(rows.map(({ name }) => name)).toEqual(names);
  });

  test.each(rows)("counts the packages of $name as in package-lock.json", (row) => {
    const all = neededBy([row.name]);
    const others = neededBy(names.filter((name) => name !== row.name));
    const alone = all.filter((path) => !others.includes(path));
    expect({ count: all.length, alone: alone.length }).toEqual({
      count: row.count,
      alone: row.alone,
    });
  });

  test("counts the production packages", () => {
    expect(page).toContain(`${neededBy(production).length} packages are needed in production`);
  });
});

describe("package.json", () => {
  test("has exact versions, equal to those of package-lock.json", () => {
    const wanted = {
      ...recordAt(manifest, "dependencies"),
      ...recordAt(manifest, "devDependencies"),
    };
    const locked = names.map((name) => [
      name,
      stringAt(recordAt(packages, `node_modules/${name}`), "version"),
    ]);
    expect(wanted).toEqual(Object.fromEntries(locked));
  });
});

/** Paths in package-lock.json of packages and their dependencies, without optional peers. */
function neededBy(wanted: readonly string[]): readonly string[] {
  const found = new Set<string>();
  const visit = (path: string | undefined): void => {
    if (path === undefined || found.has(path)) return;
    found.add(path);
    for (const name of needsOf(packages[path])) visit(placeOf(name, path));
  };
  for (const name of wanted) visit(placeOf(name, ""));
  return [...found];
}

function needsOf(entry: unknown): readonly string[] {
  const optional = recordAt(entry, "peerDependenciesMeta");
  const peers = Object.keys(recordAt(entry, "peerDependencies")).filter(
    (name) => recordAt(optional, name)["optional"] !== true,
  );
  const own = ["dependencies", "optionalDependencies"].flatMap((field) =>
    Object.keys(recordAt(entry, field)),
  );
  return [...own, ...peers];
}

/** Where Node finds a package that the package at `from` imports: in the nearest node_modules. */
function placeOf(name: string, from: string): string | undefined {
  const path = `${from === "" ? "" : `${from}/`}node_modules/${name}`;
  if (isRecord(packages[path])) return path;
  return from === ""
    ? undefined
    : placeOf(name, from.replace(/\/?node_modules\/(?:@[^/]+\/)?[^/]+$/, ""));
}
