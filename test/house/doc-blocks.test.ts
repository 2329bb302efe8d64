import { describe, expect, test } from "vitest";
import { hasCommands, stepsOf } from "../support/doc-blocks.ts";
import { docPages, firstCommand, isRun, otherBlocks, prerequisites } from "../dev/doc-pages.ts";

const pages = docPages().map(({ path, blocks }) => ({ path, blocks: blocks.filter(hasCommands) }));

describe("test/verify/doc-pages.test.ts runs every block of the pages", () => {
  test("but those that are listed, each of which exists once", () => {
    const found = otherBlocks.map(({ page, begins }) => {
      const blocks = pages.find(({ path }) => path === page)?.blocks ?? [];
      const same = blocks.filter((block) => firstCommand(block).startsWith(begins));
      return `${page} ${begins}: ${same.length}`;
    });
    expect(found).toEqual(otherBlocks.map(({ page, begins }) => `${page} ${begins}: 1`));
  });

  test("which are most of those that need no build, no test and no value of the reader", () => {
    const run = pages.flatMap(({ path, blocks }) => blocks.filter((block) => isRun(path, block)));
    expect(run.length).toBeGreaterThanOrEqual(40);
  });

  test("with prerequisites for pages that exist", () => {
    const paths: readonly string[] = pages.map(({ path }) => path);
    expect(Object.keys(prerequisites).filter((page) => !paths.includes(page))).toEqual([]);
  });
});

test("no key or token of a page has the name of one of another page", () => {
  const made = pages.flatMap(({ path, blocks }) => {
    const commands = blocks.flatMap(stepsOf).map(({ command }) => command);
    const names = commands.flatMap((command) =>
      [
        ...command.matchAll(/"kind": ?"(?:Owned|Direct)\w+", ?"metadata": ?\{"name": ?"([^"]+)"/g),
        ...command.matchAll(/latchkey (?:keys|token) create ([a-z][\w-]*)/g),
      ].map(([, name = ""]) => name),
    );
    return [...new Set(names)].map((name) => ({ name, path }));
  });
  const names = made.map(({ name }) => name);
  expect(made.filter(({ name }, at) => names.indexOf(name) !== at)).toEqual([]);
  expect(names).toContain("gateway-key");
});
