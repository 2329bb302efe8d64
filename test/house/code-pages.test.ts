import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { budgetsIn } from "./products.ts";
import { pathsIn, quotesIn, spansIn, strayQuotes } from "./quoted-code.ts";

const repository = join(import.meta.dirname, "..", "..");
const contributing = readFileSync(join(repository, "CONTRIBUTING.md"), "utf8");
const directory = "docs/contributing/code";
const pages = readdirSync(join(repository, directory));
const mostLines = 64;

/** The name of the page of a product. */
function pageOf(product: string): string {
  return `${product.replaceAll(" ", "-")}.md`;
}

/** The texts of the files, not of the directories, that a page names. */
function filesNamed(page: string): readonly string[] {
  return pathsIn(page)
    .map((path) => join(repository, path))
    .filter((path) => existsSync(path) && statSync(path).isFile())
    .map((path) => readFileSync(path, "utf8"));
}

/** The names of code in backticks, such as `runLoop` or `Informer.run`, that no text has. */
function strayNames(page: string, texts: readonly string[]): readonly string[] {
  const words = new Set(texts.flatMap((text) => text.match(/[\w$]+/g) ?? []));
  return spansIn(page)
    .filter((span) => /^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*$/.test(span) && !isFileName(span))
    .filter((name) => name.split(".").some((word) => !words.has(word)));
}

/** Names of files in backticks that are no path from the root of the repository. */
function shortPaths(page: string): readonly string[] {
  const paths = pathsIn(page);
  return spansIn(page).filter((span) => isFileName(span) && !paths.includes(span));
}

function isFileName(span: string): boolean {
  return /\w\.(?:md|ts)$/.test(span);
}

test("each product of the table in CONTRIBUTING.md has a page, and each page has a product", () => {
  const products = [...budgetsIn(contributing).keys()];
  expect(products.length).toBeGreaterThan(5);
  expect(pages.toSorted()).toEqual(products.map(pageOf).toSorted());
});

test("CONTRIBUTING.md links each page", () => {
  expect(pages.filter((name) => !contributing.includes(`](${directory}/${name})`))).toEqual([]);
});

describe.each(pages)(`${directory}/%s`, (name) => {
  const page = readFileSync(join(repository, directory, name), "utf8");

  test("names files by paths that exist", () => {
    expect(shortPaths(page)).toEqual([]);
    expect(pathsIn(page).length).toBeGreaterThan(5);
    expect(pathsIn(page).filter((path) => !existsSync(join(repository, path)))).toEqual([]);
  });

  test("quotes lines of the files that it names", () => {
    expect(quotesIn(page).length).toBeGreaterThan(0);
    expect(strayQuotes(page, filesNamed(page))).toEqual([]);
  });

  test("names code of the files that it names", () => {
    expect(strayNames(page, filesNamed(page))).toEqual([]);
  });

  test(`has at most ${mostLines} lines`, () => {
    expect(page.trimEnd().split("\n").length).toBeLessThanOrEqual(mostLines);
  });
});

describe("finds", () => {
  const page = [
    "`src/api/gone.ts` has `found` and `Store.lost`; `short.ts` and `/readyz` are no paths.",
    ...["```ts", "  const found = 1;", "const lost = 2;", "```"],
  ].join("\n");
  const source = "export class Store {}\nconst found = 1;\n";

  test("a quoted line that no file has", () => {
    expect(strayQuotes(page, [source])).toEqual(["const lost = 2;"]);
    expect(strayQuotes(page, [])).toEqual(["const found = 1;", "const lost = 2;"]);
  });

  test("a part of a line that is quoted as a line", () => {
    expect(strayQuotes("```ts\nfound = 1;\n```", [source])).toEqual(["found = 1;"]);
  });

  test("a path that is not from the root", () => {
    expect(pathsIn(page)).toEqual(["src/api/gone.ts"]);
    expect(shortPaths(page)).toEqual(["short.ts"]);
  });

  test("a name of code that no file has", () => {
    expect(strayNames(page, [source])).toEqual(["Store.lost"]);
  });
});
