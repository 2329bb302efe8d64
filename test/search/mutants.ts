/*
 * Makes one defect of mutants.json at a time, in a copy of the checkout, and searches the world that
 * finds it: prints the shortest trace to it. MUTANT selects defects by a part of their name.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeBed, removeBed } from "../mutants/bed.ts";

interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly before: string;
  readonly after: string;
  readonly world: string;
}

const mutants: readonly Mutant[] = JSON.parse(
  readFileSync(join(import.meta.dirname, "mutants.json"), "utf8"),
);
const mostStates = "40000";

/** The trace to the defect; undefined if the search does not find it. */
function traceTo({ name, file, before, after, world }: Mutant, bed: string): string | undefined {
  const path = join(bed, file);
  const original = readFileSync(path, "utf8");
  if (original.split(before).length !== 2)
    throw new Error(`${name}: ${file} does not contain the text exactly once`);
  writeFileSync(
    path,
    original.replace(before, () => after),
  );
  const command = ["--max-semi-space-size=64", "test/search/main.ts"];
  const env = { ...process.env, WORLD: world, STATES: mostStates };
  const { stdout, stderr, status } = spawnSync(process.execPath, command, { cwd: bed, env });
  writeFileSync(path, original);
  if (status === 0) return undefined;
  return String(stdout).includes("VIOLATION") ? String(stdout) : `it ends with ${String(stderr)}`;
}

const part = process.env["MUTANT"] || "";
const bed = makeBed();
try {
  const selected = mutants.filter(({ name }) => name.includes(part));
  const missed = selected.filter((mutant) => {
    const trace = traceTo(mutant, bed);
    process.stdout.write(
      `${trace === undefined ? "MISSED" : "found"} ${mutant.name}\n${trace ?? ""}`,
    );
    return trace === undefined;
  });
  process.stdout.write(`${selected.length} mutants, ${missed.length} missed\n`);
  process.exitCode = missed.length === 0 ? 0 : 1;
} finally {
  removeBed(bed);
}
