import { spawnSync } from "node:child_process";
import { relative } from "node:path";
import { isRecord, stringAt } from "../../src/api/parse.ts";
import { projects } from "../../vitest.config.ts";
import { repository } from "../support/install.ts";
import { type Preparation, preparationsFor } from "./preparations.ts";
import { MissingError, type Missing, type Prepared } from "../support/prepared.ts";

/**
 * The files that a run of vitest with these arguments loads: its tests, and what starts before the
 * tests of a project. Paths below the project.
 */
export function filesOfRun(vitestArguments: readonly string[]): readonly string[] {
  const asked = ["list", "--json", "--filesOnly", ...vitestArguments.filter(isNoReporter)];
  const { stdout } = spawnSync("vitest", asked, { cwd: repository, encoding: "utf8" });
  const listed = parsed(stdout).filter(isRecord);
  const chosen = new Set(listed.map((one) => stringAt(one, "projectName")));
  const setups = projects
    .filter(({ name }) => chosen.has(name))
    .flatMap((project): readonly string[] => project.globalSetup ?? []);
  const tests = listed.map((one) => relative(repository, stringAt(one, "file") ?? ""));
  return [...new Set([...setups, ...tests])];
}

/** The global setups among the files of a run. */
export function setupsAmong(files: readonly string[]): readonly string[] {
  const setups = new Set(projects.flatMap(({ globalSetup = [] }) => globalSetup));
  return files.filter((file) => setups.has(file));
}

/** `vitest list` writes its own result to the output file of a reporter. */
function isNoReporter(argument: string): boolean {
  return !/^--(?:reporter|outputFile)\b/.test(argument);
}

/** Empty if vitest refuses its arguments, which the run itself says. */
function parsed(json: string): readonly unknown[] {
  try {
    const list: unknown = JSON.parse(json);
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/**
 * Makes what test files need, one after the other, unless it is cached; returns where each is, or why
 * there is none. Throws if what no test can run without is missing.
 */
export async function prepareFor(
  files: readonly string[],
  say: (line: string) => void,
): Promise<Prepared> {
  const needed = preparationsFor(files);
  const all: Record<string, string | Missing> = {};
  for (const [index, preparation] of needed.entries()) {
    const report = (line: string) => say(`prepare ${index + 1} of ${needed.length}, ${line}`);
    all[preparation.name] = await madeOrMissing(preparation, report);
  }
  return all;
}

async function madeOrMissing(
  { name, make, isRequired }: Preparation,
  report: (line: string) => void,
): Promise<string | Missing> {
  try {
    return await make({ report });
  } catch (error) {
    if (isRequired) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const [first = ""] = reason.split("\n");
    report(
      error instanceof MissingError ? `${name}: ${reason}` : `${reason}\nIts tests are skipped.`,
    );
    return { missing: error instanceof MissingError ? reason : first };
  }
}
