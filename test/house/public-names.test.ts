import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { publicNames, publicNamesFile, untabledNames } from "./public-names.ts";
import { sourceFiles } from "./source-files.ts";

const path = join(import.meta.dirname, "..", "..", publicNamesFile);
const listed = readFileSync(path, "utf8")
  .split("\n")
  .filter((line) => line !== "");

test("each public name is listed", async () => {
  const added = (await publicNames()).filter((name) => !listed.includes(name));
  expect(added, "new names; npm run public-names lists them").toEqual([]);
});

test("each listed name exists", async () => {
  const names = await publicNames();
  const removed = listed.filter((name) => !names.includes(name));
  expect(removed, "a removed name needs a migration: docs/compatibility.md").toEqual([]);
});

test("the list is as npm run public-names prints it", async () => {
  expect(listed).toEqual(await publicNames());
});

test("each name that no table has is in src", () => {
  const text = sourceFiles.map((file) => file.text).join("\n");
  const names = Object.values(untabledNames).flat();
  expect(names.filter((name) => !text.includes(name))).toEqual([]);
});

test("docs/compatibility.md explains each kind of line, in at most 110 lines", () => {
  const page = readFileSync(join(path, "..", "compatibility.md"), "utf8");
  const kinds = [...new Set(listed.map((line) => line.split(" ", 1)[0] ?? ""))];
  expect(kinds.filter((kind) => !page.includes(`\`${kind}\``))).toEqual([]);
  expect(page.split("\n").length).toBeLessThanOrEqual(110);
});
