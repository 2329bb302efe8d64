/*
 * Runs the projects of `make test` one after the other, and prints the time and the processor time
 * of each (user and system, with all processes that it started), and the slowest files.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRecord, listAt, numberAt, stringAt } from "../../src/api/parse.ts";
import { repository } from "../support/install.ts";

const names = ["check", "unit", "cluster", "product", "product-keys", "dedicated"];
const slowest = 20;
const directory = mkdtempSync(join(tmpdir(), "latchkey-times-"));

interface Times {
  readonly name: string;
  readonly wall: number;
  readonly processor: number;
}

interface FileTime {
  readonly file: string;
  readonly seconds: number;
}

function reportOf(name: string): string {
  return join(directory, `${name}.json`);
}

/** Runs a project below a shell, which counts the processor time of its children. */
function run(name: string): Times {
  const command =
    name === "check"
      ? "npm run --silent check"
      : `npm run --silent test -- --project=${name} --reporter=json --outputFile=${reportOf(name)}`;
  const { stderr } = spawnSync("bash", ["-c", `TIMEFORMAT='%R %U %S'; time ${command} 2>&1`], {
    cwd: repository,
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [wall = 0, user = 0, system = 0] = (stderr.trim().split("\n").at(-1) ?? "")
    .split(" ")
    .map(Number);
  return { name, wall, processor: user + system };
}

function filesOf(name: string): readonly FileTime[] {
  if (name === "check") return [];
  const report: unknown = JSON.parse(readFileSync(reportOf(name), "utf8"));
  return listAt(report, "testResults")
    .filter(isRecord)
    .map((result) => ({
      file: (stringAt(result, "name") ?? "").slice(repository.length + 1),
      seconds: ((numberAt(result, "endTime") ?? 0) - (numberAt(result, "startTime") ?? 0)) / 1000,
    }));
}

const row = (name: string, wall: number, processor: number) =>
  `${name.padEnd(14)}${wall.toFixed(0).padStart(8)}${processor.toFixed(0).padStart(12)}\n`;

try {
  const times = names.map(run);
  process.stdout.write("project        seconds   processor\n");
  for (const { name, wall, processor } of times) process.stdout.write(row(name, wall, processor));
  const sum = (of: (one: Times) => number) => times.reduce((total, one) => total + of(one), 0);
  process.stdout.write(
    row(
      "one by one",
      sum(({ wall }) => wall),
      sum(({ processor }) => processor),
    ),
  );
  process.stdout.write("\nseconds  slowest files\n");
  const files = names.flatMap(filesOf).toSorted((a, b) => b.seconds - a.seconds);
  for (const { file, seconds } of files.slice(0, slowest))
    process.stdout.write(`${seconds.toFixed(1).padStart(7)}  ${file}\n`);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
