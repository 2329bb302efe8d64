/*
 * Makes small changes of the source, one at a time, and runs the unit tests of its directory: prints
 * the changes that no test detects. The scope engine gets every change; ROOMS names other
 * directories of src, which get SAMPLE changes that SEED selects. With SAME_AS, only files that are as
 * in that revision are changed, so that the same changes are made to both.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { filesOfRun, prepareFor } from "../run/prepare.ts";
import { preparedVariable } from "../support/prepared.ts";
import { shuffled } from "../support/seeded-random.ts";
import { filesIn, makeBed, passes, removeBed, repository } from "./bed.ts";
import { type Mutation, mutationsOf } from "./mutations.ts";

/** Files to change, and the tests that should detect the changes. */
interface Target {
  readonly files: readonly string[];
  readonly tests: readonly string[];
}

const scopeEngine: Target = {
  files: ["src/api/scope.ts", ...filesIn("src/domain/scope")],
  tests: ["test/domain/scope", "test/api/scope.test.ts"],
};

/** The files that are not as in the revision of SAME_AS. */
const differing: ReadonlySet<string> = differingFrom(process.env["SAME_AS"]);

function differingFrom(revision: string | undefined): ReadonlySet<string> {
  if (!revision) return new Set();
  const command = ["diff", "--name-only", revision, "--", "src"];
  return new Set(execFileSync("git", command, { encoding: "utf8" }).split("\n"));
}

/** The target of a directory of src: all of its files, and the tests that mirror it. */
function targetOf(room: string): Target {
  if (room === "scope") return scopeEngine;
  const files = filesIn(`src/${room}`);
  if (files.length === 0) throw new Error(`ROOMS: src/${room} has no files`);
  return { files: files.filter((file) => !differing.has(file)), tests: [`test/${room}`] };
}

/** The test that mirrors a file, if there is one. */
function mirrorOf(file: string): readonly string[] {
  const mirror = file.replace(/^src\//, "test/").replace(/\.ts$/, ".test.ts");
  return existsSync(join(repository, mirror)) ? [mirror] : [];
}

/** The timeout is long, and it also ends an endless loop. */
const deadlineMs = 120_000;

interface Job {
  readonly file: string;
  readonly mutation: Mutation;
  readonly tests: readonly string[];
}

/** Whether the unit tests pass in this copy of the checkout. */
function unitTestsPass(bed: string, tests: readonly string[]): Promise<boolean> {
  const options = ["--project", "unit", "--bail=1", "--testTimeout=60000"];
  return passes(bed, [...options, ...tests], deadlineMs);
}

function nameOf({ file, mutation: { line, before, after } }: Job): string {
  const text = readFileSync(join(repository, file), "utf8").split("\n")[line - 1]?.trim() ?? "";
  return `${file}:${line}: ${before.trim()} -> ${after.trim() || "nothing"} in ${text}`;
}

async function work(bed: string, jobs: Job[], survivors: string[]): Promise<void> {
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
    const path = join(bed, job.file);
    const original = readFileSync(path, "utf8");
    writeFileSync(path, job.mutation.text);
    const mirror = mirrorOf(job.file);
    // Most changes fail the test of their file, which takes a tenth of the time of all.
    const passesMirror = mirror.length === 0 || (await unitTestsPass(bed, mirror));
    if (passesMirror && (await unitTestsPass(bed, job.tests))) {
      survivors.push(nameOf(job));
      process.stdout.write(`not noticed: ${nameOf(job)}\n`);
    }
    writeFileSync(path, original);
    if (jobs.length % 50 === 0) process.stdout.write(`${jobs.length} mutants left\n`);
  }
}

/** All mutations of the targets, or SAMPLE of them, selected by the seed. */
function jobsOf(targets: readonly Target[], seed: number): Job[] {
  const all = targets.flatMap(({ files, tests }) =>
    files.flatMap((file) =>
      mutationsOf(readFileSync(join(repository, file), "utf8")).map((mutation) => ({
        file,
        mutation,
        tests,
      })),
    ),
  );
  return shuffled(all, seed).slice(0, Number(process.env["SAMPLE"] || all.length));
}

const rooms = (process.env["ROOMS"] || "scope").split(",");
const seed = Number(process.env["SEED"] || 1);
const beds = Array.from({ length: availableParallelism() }, makeBed);
try {
  const targets = rooms.map(targetOf);
  const files = filesOfRun(["--project=unit", ...targets.flatMap(({ tests }) => tests)]);
  const prepared = await prepareFor(files, (line) => void process.stderr.write(`${line}\n`));
  process.env[preparedVariable] = JSON.stringify(prepared);
  for (const { tests } of targets)
    if (!(await unitTestsPass(beds[0] ?? makeBed(), tests)))
      throw new Error(`${tests.join(" ")}: the tests fail without any mutation`);
  const jobs = jobsOf(targets, seed);
  const count = jobs.length;
  const survivors: string[] = [];
  await Promise.all(beds.map((bed) => work(bed, jobs, survivors)));
  process.stdout.write(
    `${count} mutants of ${rooms.join(", ")} (SEED=${seed}), ${count - survivors.length} noticed, ${survivors.length} not noticed\n`,
  );
  process.exitCode = survivors.length === 0 ? 0 : 1;
} finally {
  beds.forEach(removeBed);
}
