/* Changes the scope engine in every small way, one at a time, and runs its tests: what no test notices is printed. */
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { type Mutation, mutationsOf } from "./mutations.ts";

const repository = join(import.meta.dirname, "..", "..");
const files = [
  "src/api/scope.ts",
  ...[
    "allows",
    "always-allowed",
    "authorization-only",
    "derived-credentials",
    "narrows",
    "patterns",
    "place",
    "roles",
    "scope-warnings",
    "wider-scope",
  ].map((name) => `src/domain/scope/${name}.ts`),
];
const tests = ["test/domain/scope", "test/api/scope.test.ts"];
/** Deadlines are generous: an endless loop is noticed, too. */
const deadlineMs = 120_000;

interface Job {
  readonly file: string;
  readonly mutation: Mutation;
}

interface Bed {
  readonly directory: string;
}

function makeBed(): Bed {
  const directory = mkdtempSync(join(tmpdir(), "latchkey-mutants-"));
  for (const entry of ["src", "test", "crds", "package.json", "tsconfig.json", "vitest.config.ts"])
    cpSync(join(repository, entry), join(directory, entry), { recursive: true });
  symlinkSync(join(repository, "node_modules"), join(directory, "node_modules"));
  return { directory };
}

/** Whether the tests of the scope engine pass in a bed. */
function passes({ directory }: Bed): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(
      "vitest",
      ["run", "--project", "unit", "--bail=1", "--testTimeout=60000", "--reporter=dot", ...tests],
      { cwd: directory, stdio: "ignore", timeout: deadlineMs, env: { ...process.env, CI: "true" } },
    );
    child.once("close", (code) => resolve(code === 0));
  });
}

function nameOf({ file, mutation: { line, before, after } }: Job): string {
  const text = readFileSync(join(repository, file), "utf8").split("\n")[line - 1]?.trim() ?? "";
  return `${file}:${line}: ${before.trim()} -> ${after.trim() || "nothing"} in ${text}`;
}

async function work(bed: Bed, jobs: Job[], survivors: string[]): Promise<void> {
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
    const path = join(bed.directory, job.file);
    const original = readFileSync(path, "utf8");
    writeFileSync(path, job.mutation.text);
    if (await passes(bed)) survivors.push(nameOf(job));
    writeFileSync(path, original);
    if (jobs.length % 50 === 0) process.stdout.write(`${jobs.length} mutants left\n`);
  }
}

const beds = Array.from({ length: availableParallelism() }, makeBed);
try {
  if (!(await passes(beds[0] ?? makeBed()))) throw new Error("the tests fail without any mutation");
  const jobs = files.flatMap((file) =>
    mutationsOf(readFileSync(join(repository, file), "utf8")).map((mutation) => ({
      file,
      mutation,
    })),
  );
  const count = jobs.length;
  const survivors: string[] = [];
  await Promise.all(beds.map((bed) => work(bed, jobs, survivors)));
  for (const name of survivors) process.stdout.write(`not noticed: ${name}\n`);
  process.stdout.write(
    `${count} mutants of ${files.length} files, ${count - survivors.length} noticed, ${survivors.length} not noticed\n`,
  );
  process.exitCode = survivors.length === 0 ? 0 : 1;
} finally {
  for (const { directory } of beds) rmSync(directory, { recursive: true, force: true });
}
