import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const repository = join(import.meta.dirname, "..", "..");
const page = readFileSync(join(repository, "docs", "moving.md"), "utf8");

/** The cells of the rows of the table below a heading, without its head. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const [, section = ""] = page.split(`\n### ${heading}\n`);
  const lines = (section.split(/\n##+ /)[0] ?? "").split("\n").filter((line) => /^\|/.test(line));
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

const behaviours = rowsBelow("Behaviour");
const proofs = rowsBelow("Tests of these behaviours").map(([behaviour, file = "", title = ""]) => ({
  behaviour,
  file: file.replaceAll("`", ""),
  title: title.replaceAll("`", ""),
}));

describe("docs/moving.md", () => {
  test("names a test for each behaviour, and no other behaviour", () => {
    expect(behaviours.length).toBeGreaterThan(10);
    expect([...new Set(proofs.map(({ behaviour }) => behaviour))]).toEqual(
      behaviours.map(([behaviour]) => behaviour),
    );
  });

  test.each(proofs)("the test of $behaviour exists: $title", ({ file, title }) => {
    const path = join(repository, "test", file);
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    expect([`"${title}`, `\`${title}`].filter((start) => text.includes(start))).toHaveLength(1);
  });

  test("has an address for each link of the comparison", () => {
    const links = [...page.matchAll(/\]\[([a-z-]+)\]/g)].map(([, name = ""]) => name);
    const addresses = [...page.matchAll(/^\[([a-z-]+)\]:\s+https:\/\//gm)].map(
      ([, name = ""]) => name,
    );
    expect([...new Set(links)].toSorted()).toEqual(addresses.toSorted());
  });
});
