import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";

const repository = join(import.meta.dirname, "..", "..");
const page = readFileSync(join(repository, "docs", "specification.md"), "utf8");
/** The rows that may say `open`: what no version builds yet. */
const openRows: readonly string[] = [];

/** A test that a row of the page names. */
interface NamedTest {
  /** Relative to the repository. */
  readonly file: string;
  /** A title, and after ` > ` the case of a table that the test goes through. */
  readonly name: string;
}

interface Row {
  readonly id: string;
  readonly isOpen: boolean;
  readonly tests: readonly NamedTest[];
}

/** The rows of all tables whose first cell is an id, such as `K4`. */
function rowsOf(text: string): readonly Row[] {
  return [...text.matchAll(/^\| ([A-Z]+\d+) +\|(.*)\|$/gm)].map(([, id = "", cells = ""]) => {
    const cell = (cells.split(/(?<!\\)\|/).at(-1) ?? "").trim();
    return { id, isOpen: cell === "open", tests: testsIn(cell) };
  });
}

/** `[file](../test/file): names in code spans`, separated by `<br>`; anything else is no test. */
function testsIn(cell: string): readonly NamedTest[] {
  return cell.split("<br>").flatMap((part) => {
    const [, file, names = ""] = /^\[[^\]]+\]\(\.\.\/(test\/[^)]+)\): (.*)$/.exec(part) ?? [];
    if (file === undefined) return [{ file: part, name: "" }];
    const spans = names.matchAll(/`([^`]+)`/g);
    return [...spans].map(([, name = ""]) => ({ file, name: name.replaceAll("\\|", "|") }));
  });
}

/** Where a title begins: first in a call or in a row of a table, as a field, or a cell of a text. */
const titleBegins = String.raw`(?:(?:[([]|\b(?:name|rule|sentence|title):)\s*["'\u0060]|^[ \t]*)`;
/** A title in quotes is not the only argument; another ends where it is no longer constant. */
const titleEnds = String.raw`(?:["'\u0060]\s*,|:? ?\$\{|[ \t]*\||[ \t]*$)`;
/** A case may be any text, such as a later value of a list. */
const caseBegins = String.raw`(?:["'\u0060]|^[ \t]*)`;
const caseEnds = String.raw`(?:["'\u0060]|:? ?\$\{|[ \t]*\||[ \t]*$)`;

/** Whether a file has tests that run: its own, or those of a test file beside it that imports it. */
function isRun(path: string): boolean {
  const imported = `from "./${basename(path)}"`;
  return globSync(join(dirname(path), "*.test.ts")).some(
    (test) => test === path || readFileSync(test, "utf8").includes(imported),
  );
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}

/** Whether a source has a test of exactly that name. */
function hasTest(source: string, name: string): boolean {
  const contains = (begins: string, text: string, ends: string): boolean =>
    text !== "" && new RegExp(begins + escaped(text) + ends, "m").test(source);
  const [title = "", ...cases] = name.split(" > ");
  return (
    contains(titleBegins, title, titleEnds) &&
    cases.every((text) => contains(caseBegins, text, caseEnds))
  );
}

describe("docs/specification.md", () => {
  const rows = rowsOf(page);

  test("has a row for each statement, with an id of its own", () => {
    const ids = rows.map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(90);
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
  });

  test("names in every row a test that exists, unless the statement is open", () => {
    const named = rows.flatMap(({ id, isOpen, tests }) =>
      isOpen ? [] : tests.map((one) => ({ id, ...one })),
    );
    const missing = named.filter(({ file, name }) => {
      const path = join(repository, file);
      return !(existsSync(path) && isRun(path) && hasTest(readFileSync(path, "utf8"), name));
    });
    expect(missing).toEqual([]);
  });

  test("says of the expected rows alone that they are open", () => {
    expect(rows.filter(({ isOpen }) => isOpen).map(({ id }) => id)).toEqual(openRows);
  });
});

describe("a name is found", () => {
  const source = `
    it("keeps it", () => expect("unlike this").toBe(""));
    it.each([["first", 1], ["second \${row}", 2]])(
      "takes %s | either", () => {});
    const rules = [{ rule: "of a rule", spec: "none" }];
    cellsOf(\`
      covers its verbs | rule verbs=get
    \`);`;

  test.each([
    ["keeps it", true],
    ["takes %s | either > first", true],
    ["takes %s | either > second", true],
    ["of a rule", true],
    ["covers its verbs", true],
    ["keeps", false],
    ["eeps it", false],
    ["unlike this > keeps it", false],
    ["takes %s | either > third", false],
    ["none", false],
    ["", false],
  ])("%j: %s", (name, found) => {
    expect(hasTest(source, name)).toBe(found);
  });

  test("in a cell, with its file; other text is a test that does not exist", () => {
    expect(
      rowsOf("| A1 | x | y | [a](../test/a.test.ts): `b`; `c \\| d`<br>later |\n| A2 | x | open |"),
    ).toEqual([
      {
        id: "A1",
        isOpen: false,
        tests: [
          { file: "test/a.test.ts", name: "b" },
          { file: "test/a.test.ts", name: "c | d" },
          { file: "later", name: "" },
        ],
      },
      { id: "A2", isOpen: true, tests: [{ file: "open", name: "" }] },
    ]);
  });
});
