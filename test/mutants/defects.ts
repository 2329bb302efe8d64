/*
 * Draws defects from src, and looks for each with all tests of `make test` instead of the unit tests
 * alone. `draw` writes the list, from a seed and the coverage of the unit tests; `run` reports which
 * defects the tests of the named vitest projects detect. A defect that breaks a statement of the
 * specification, or a sentence about who may do something, stays when others are drawn, and the file
 * of its test alone has to find it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { shuffled } from "../support/seeded-random.ts";
import { checks, filesIn, makeBed, passes, removeBed, repository } from "./bed.ts";
import { mutationsOf } from "./mutations.ts";

/** A small change of one line of src, which is found again by its text. */
interface Defect {
  readonly file: string;
  readonly line: number;
  /** The line before and after the change. */
  readonly before: string;
  readonly after: string;
  /** Whether a unit test executes the statement; the others need a cluster. */
  readonly reachedBy: "unit tests" | "cluster tests";
  /** The row of docs/contributing/specification.md that it breaks, and the test of that row. */
  readonly statement?: string;
  /** What it breaks, if no row of that page says it. */
  readonly sentence?: string;
  readonly test?: string;
}

/** A statement of a coverage report in Istanbul's format. */
interface FileCoverage {
  readonly statementMap: Record<string, { start: { line: number }; end: { line: number } }>;
  readonly s: Record<string, number>;
}

const list = join(import.meta.dirname, "defects.json");
const total = 20;
const fewestOfCluster = 8;

/** Changes of conditions and flags: a changed text is a defect only to a person who reads it. */
function isDefect({ before }: { readonly before: string }): boolean {
  return !before.startsWith('"');
}

function listed(): readonly Defect[] {
  const { defects }: { defects: readonly Defect[] } = JSON.parse(readFileSync(list, "utf8"));
  return defects;
}

function draw(seed: number, coverageFile: string): readonly Defect[] {
  const coverage: Record<string, FileCoverage> = JSON.parse(readFileSync(coverageFile, "utf8"));
  const reached = (file: string, line: number) => {
    const [, found] = Object.entries(coverage).find(([path]) => path.endsWith(`/${file}`)) ?? [];
    const counts = Object.entries(found?.statementMap ?? {}).flatMap(([id, { start, end }]) =>
      start.line <= line && line <= end.line ? [found?.s[id] ?? 0] : [],
    );
    return counts.some((count) => count > 0);
  };
  const all = filesIn("src").flatMap((file) => {
    const text = readFileSync(join(repository, file), "utf8");
    return mutationsOf(text)
      .filter(isDefect)
      .map((mutation): Defect => {
        const lineOf = (source: string) => source.split("\n")[mutation.line - 1] ?? "";
        return {
          file,
          line: mutation.line,
          before: lineOf(text),
          after: lineOf(mutation.text),
          reachedBy: reached(file, mutation.line) ? "unit tests" : "cluster tests",
        };
      });
  });
  const inOrder = shuffled(all, seed);
  const ofCluster = inOrder.filter(({ reachedBy }) => reachedBy === "cluster tests");
  const first = ofCluster.slice(0, fewestOfCluster);
  const others = inOrder.filter((defect) => !first.includes(defect));
  return [...first, ...others.slice(0, total - fewestOfCluster)];
}

/** The text of a file with the defect; its line may have moved since the list was drawn. */
function withDefect(text: string, { file, line, before, after }: Defect): string {
  const lines = text.split("\n");
  const places = lines.flatMap((found, index) => (found === before ? [index] : []));
  const place = places.toSorted((a, b) => Math.abs(a + 1 - line) - Math.abs(b + 1 - line))[0];
  if (place === undefined) throw new Error(`${file} has no line ${JSON.stringify(before)}`);
  return lines.with(place, after).join("\n");
}

/** What selects the test of a statement; everything without one. */
function argumentsFor(test: string | undefined): readonly string[] {
  if (test === undefined) return [];
  return test.startsWith("test/verify/") ? ["--project=verify", test] : [test];
}

async function run(defects: readonly Defect[], vitestArguments: readonly string[]): Promise<void> {
  const bed = makeBed();
  let found = 0;
  try {
    for (const test of new Set(defects.map((defect) => defect.test)))
      if (!(await passes(bed, [...vitestArguments, ...argumentsFor(test)], 3_600_000)))
        throw new Error(`the tests fail without any defect: ${test ?? "all"}`);
    for (const defect of defects) {
      const path = join(bed, defect.file);
      const text = readFileSync(path, "utf8");
      writeFileSync(path, withDefect(text, defect));
      const began = Date.now();
      const isFound =
        !(await checks(bed)) ||
        !(await passes(
          bed,
          ["--bail=1", ...vitestArguments, ...argumentsFor(defect.test)],
          3_600_000,
        ));
      writeFileSync(path, text);
      found += isFound ? 1 : 0;
      const seconds = Math.round((Date.now() - began) / 1000);
      process.stdout.write(
        `${isFound ? "found" : "NOT FOUND"} in ${seconds} s: ${defect.file}:${defect.line}: ${defect.after.trim()}\n`,
      );
    }
    process.stdout.write(`${found} of ${defects.length} defects found\n`);
  } finally {
    removeBed(bed);
  }
}

const [command, ...rest] = process.argv.slice(2);
if (command === "draw") {
  const seed = Number(rest[0]);
  const kept = listed().filter(({ test }) => test !== undefined);
  const defects = [...draw(seed, rest[1] ?? ""), ...kept];
  writeFileSync(list, `${JSON.stringify({ seed, defects }, undefined, 2)}\n`);
  process.stdout.write(`SEED=${seed}: ${defects.length} defects in ${list}\n`);
} else {
  const only = process.env["DEFECTS"]?.split(",").map(Number);
  await run(
    listed().filter((_defect, index) => only?.includes(index) ?? true),
    rest,
  );
}
