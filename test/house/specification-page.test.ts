import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";

const repository = join(import.meta.dirname, "..", "..");
const page = readFileSync(join(repository, "docs", "contributing", "specification.md"), "utf8");
/** Where tests have a real kube-apiserver. */
const onServer = /^test\/(?:cluster|product|program|dedicated|verify|journeys)\//;

/** A test that a row of the page names. */
interface NamedTest {
  /** Relative to the repository. */
  readonly file: string;
  /** A title, and after ` > ` the case of a table that the test goes through. */
  readonly name: string;
}

interface Row {
  readonly id: string;
  /** `whole`, `limited` or `open`. */
  readonly holds: string;
  readonly tests: readonly NamedTest[];
}

/** The rows of all tables whose first cell is an id, such as `K4`. */
function rowsOf(text: string): readonly Row[] {
  return [...text.matchAll(/^\| ([A-Z]+\d+) +\|(.*)\|$/gm)].map(([, id = "", line = ""]) => {
    const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    return { id, holds: cells[1] ?? "", tests: testsIn(cells.at(-1) ?? "") };
  });
}

/** `[file](../../test/file): names in code spans`, separated by `<br>`; anything else is no test. */
function testsIn(cell: string): readonly NamedTest[] {
  return cell.split("<br>").flatMap((part) => {
    const [, file, names = ""] = /^\[[^\]]+\]\(\.\.\/\.\.\/(test\/[^)]+)\): (.*)$/.exec(part) ?? [];
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

describe("docs/contributing/specification.md", () => {
  const rows = rowsOf(page);

  test("has a row for each statement, with an id of its own", () => {
    const ids = rows.map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(150);
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
  });

  test("counts the statements that hold whole, with a limit, or not yet", () => {
    const having = (holds: string) => rows.filter((row) => row.holds === holds);
    const [whole, limited, open] = [having("whole"), having("limited"), having("open")];
    expect(whole.length + limited.length + open.length).toBe(rows.length);
    expect(page.replaceAll(/\s+/g, " ")).toContain(
      `Of ${rows.length} statements, ${whole.length} hold whole, ${limited.length} with a limit, and ${open.length} are open.`,
    );
  });

  test("says each limit in one sentence", () => {
    const items = [...page.matchAll(/^- \*\*([A-Z]+\d+[A-Z\d, ]*)\*\*: ((?:.+\n {2})*.+)$/gm)];
    const limited = rows.filter(({ holds }) => holds === "limited").map(({ id }) => id);
    expect(items.flatMap(([, ids = ""]) => ids.split(", "))).toEqual(limited);
    const sentences = items.map(([, , text = ""]) => text.replaceAll(/\(\S*\)/g, ""));
    expect(sentences.filter((text) => text.indexOf(".") !== text.length - 1)).toEqual([]);
  });

  const named = rows.filter(({ holds }) => holds !== "open");

  test("names in every row tests that exist, unless the statement is open", () => {
    const missing = named
      .flatMap(({ id, tests }) => tests.map((one) => ({ id, ...one })))
      .filter(({ file, name }) => {
        const path = join(repository, file);
        return !(existsSync(path) && isRun(path) && hasTest(readFileSync(path, "utf8"), name));
      });
    expect(missing).toEqual([]);
  });

  test("names in every row a test on a real server", () => {
    const others = named.filter(({ tests }) => !tests.some(({ file }) => onServer.test(file)));
    expect(others.map(({ id }) => id)).toEqual([]);
  });

  test("refers from what is said twice to rows that exist", () => {
    const [, section = ""] = page.split("\n### Said twice\n");
    const referred = [
      ...(section.split("\n## ")[0] ?? "").matchAll(/\| ([A-Z]+\d+[A-Z\d, ]*?) +\|$/gm),
    ];
    const ids = referred.flatMap(([, list = ""]) => list.split(", "));
    expect(ids.length).toBeGreaterThan(20);
    expect(ids.filter((id) => !rows.some((row) => row.id === id))).toEqual([]);
  });

  test("has a defect that its test finds for each row of the list of defects", () => {
    const list = readFileSync(join(repository, "test", "mutants", "defects.json"), "utf8");
    const defects: readonly { statement?: string; test?: string }[] = JSON.parse(list).defects;
    const broken = defects.filter(({ statement }) => statement !== undefined);
    expect(broken.length).toBeGreaterThan(20);
    const isNamed = ({ statement, test: file }: (typeof defects)[number]): boolean =>
      rows.some(({ id, tests }) => id === statement && tests.some((one) => one.file === file));
    expect(broken.filter((defect) => !isNamed(defect))).toEqual([]);
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
      rowsOf(
        "| A1 | x | whole | y | [a](../../test/a.test.ts): `b`; `c \\| d`<br>later |\n" +
          "| A2 | x | open | y | - |",
      ),
    ).toEqual([
      {
        id: "A1",
        holds: "whole",
        tests: [
          { file: "test/a.test.ts", name: "b" },
          { file: "test/a.test.ts", name: "c | d" },
          { file: "later", name: "" },
        ],
      },
      { id: "A2", holds: "open", tests: [{ file: "-", name: "" }] },
    ]);
  });
});
