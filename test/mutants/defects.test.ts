import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listAt, stringAt } from "../../src/api/parse.ts";
import { repository } from "../support/install.ts";

const contentOf = (path: string): string => readFileSync(join(repository, path), "utf8");
const lists = ["test/mutants/defects.json", "test/search/mutants.json"];

// Otherwise the command that plants them stops at the first one that is stale.
describe.each(lists)("each defect of %s", (path) => {
  const parsed: unknown = JSON.parse(contentOf(path));
  const rows = Array.isArray(parsed) ? parsed : listAt(parsed, "defects");
  test.each(
    rows.map((row: unknown) => [stringAt(row, "file") ?? "", stringAt(row, "before") ?? ""]),
  )("%s has the text once: %s", (file, before) => {
    expect(contentOf(file).split(before)).toHaveLength(2);
  });
});
