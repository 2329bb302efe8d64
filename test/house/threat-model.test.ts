import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const repository = join(import.meta.dirname, "..", "..");
const page = readFileSync(join(repository, "docs", "threat-model.md"), "utf8");

/** Items of the lists below a heading, numbered or not, each with the lines that continue it. */
function itemsBelow(heading: string): readonly string[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  return section.split(/^(?=(?:-|\d+\.) )|^(?=#)/m).filter((text) => /^(?:-|\d+\.) /.test(text));
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
    "names a test, or says that there is none, in every item of %s",
    (heading) => {
      const items = itemsBelow(heading);
      expect(items.length).toBeGreaterThan(10);
      expect(
        items.filter((item) => testsIn(item).length === 0 && !item.includes("no test:")),
      ).toEqual([]);
    },
  );
});
