import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const repository = join(import.meta.dirname, "..", "..");
const page = readFileSync(join(repository, "docs", "threat-model.md"), "utf8");

/** Rows of the tables below a heading, without the two header lines of each. */
function rowsBelow(heading: string): readonly string[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  const lines = section.split("\n");
  return lines.filter(
    (line, index) => line.startsWith("|") && !isHeader(line) && !isHeader(lines[index + 1] ?? ""),
  );
}

function isHeader(line: string): boolean {
  return /^\|[-| ]+\|$/.test(line);
}

const testsIn = (text: string): readonly string[] =>
  [...text.matchAll(/`((?:test\/)?[a-z-]+\/[\w./-]+\.test\.ts)`/g)].map(([, path = ""]) =>
    path.replace(/^(?!test\/)/, "test/"),
  );

describe("the threat model", () => {
  test("names only tests that exist", () => {
    const named = testsIn(page);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
  });

  test.each(["Threats", "Published vulnerabilities of the field"])(
    "names a test, or says that there is none, in every row of %s",
    (heading) => {
      const rows = rowsBelow(heading);
      expect(rows.length).toBeGreaterThan(10);
      expect(rows.filter((row) => testsIn(row).length === 0 && !row.includes("no test:"))).toEqual(
        [],
      );
    },
  );
});
