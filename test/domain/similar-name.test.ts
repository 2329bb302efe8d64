import { expect, test } from "vitest";
import { similarName } from "../../src/domain/similar-name.ts";

const options = ["sync-to-projects", "sync-to-clusters", "sync-secret-name", "disable-sync"];

test.each([
  ["a letter that is missing", "sync-to-project", "sync-to-projects"],
  ["two letters that are exchanged", "sync-to-porjects", "sync-to-projects"],
  ["a letter that is wrong", "disable-sink", "disable-sync"],
  ["the last words", "projects", "sync-to-projects"],
  ["the last word in the singular", "project", "sync-to-projects"],
  ["all words but the last, name", "sync-secret", "sync-secret-name"],
  ["another word", "owner", undefined],
  ["the name itself", "disable-sync", undefined],
  ["nothing", "", undefined],
])("a name with %s", (_what, name, meant) => {
  expect(similarName(name, options)).toBe(meant);
});

test("a short name is similar in one letter only", () => {
  expect(similarName("web", ["wbe"])).toBe("wbe");
  expect(similarName("web", ["dev"])).toBeUndefined();
});

test("the most similar of several is meant", () => {
  expect(similarName("database", ["database-old", "databse", "data"])).toBe("databse");
});

test("long names and late candidates are not compared", () => {
  const long = "x".repeat(65);
  expect(similarName(long, [`${long}y`])).toBeUndefined();
  expect(similarName("web", [...Array.from({ length: 1_000 }, String), "webb"])).toBeUndefined();
});
