/*
 * Runs what a release must pass in addition to `make test`, part by part: a part also starts if the
 * one before it failed, and two that need one core run at the same time. PARTS selects parts by the
 * beginnings of their names. What their tests need is made first. Prints one table and writes it to
 * dist/verify.txt; the output of each part is in dist/verify/.
 */
import { spawn } from "node:child_process";
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../support/install.ts";
import { type Part, parts, preparationOf } from "./parts.ts";
import { countsIn, onTwoCores, tableOf, type Verified } from "../support/verify-report.ts";

const directory = join(repository, "dist", "verify");
const all: readonly Part[] = parts(process.env["SEED"] || String(Date.now() % 1_000_000));

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The process groups that a signal to this process ends. */
const running = new Set<number>();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => {
    for (const pid of running) process.kill(-pid, signal);
    process.exitCode = 1;
    stopped = true;
  });
let stopped = false;

async function run({ name, command, env = {} }: Part): Promise<Verified> {
  const log = join(directory, `${name}.log`);
  const output = openSync(log, "w");
  const began = performance.now();
  const [program = "", ...args] = command;
  const child = spawn(program, args, {
    cwd: repository,
    // PARTS has another meaning for the benchmark.
    env: { ...process.env, NO_COLOR: "1", PARTS: undefined, ...env },
    stdio: ["ignore", output, output],
    detached: true,
  });
  const { pid } = child;
  if (pid !== undefined) running.add(pid);
  const code = await new Promise<number>((resolve) => {
    child.once("error", () => resolve(127));
    child.once("close", (ended) => resolve(ended ?? 1));
  });
  if (pid !== undefined) running.delete(pid);
  const seconds = Math.round((performance.now() - began) / 1000);
  return { name, seconds, passed: code === 0, counts: countsIn(readFileSync(log, "utf8")) };
}

const wanted = (process.env["PARTS"] ?? "").split(",");
const unknown = wanted.filter((start) => !all.some(({ name }) => name.startsWith(start)));
if (unknown.length > 0)
  throw new Error(
    `PARTS: ${unknown.join(", ")}: no such part; must be one of ${all.map(({ name }) => name).join(", ")}`,
  );
mkdirSync(directory, { recursive: true });
const chosen = all.filter(({ name }) => wanted.some((start) => name.startsWith(start)));
const began = performance.now();
for (const part of chosen) {
  const command = preparationOf(part);
  if (stopped || command === undefined) continue;
  await run({ ...part, name: `prepare-${part.name}`, command });
}
say(`prepared in ${Math.round((performance.now() - began) / 1000)} s; dist/verify/prepare-*.log`);
const started = performance.now();
const verified = (
  await onTwoCores(chosen, async (part) => {
    if (stopped) return [];
    say(`${part.name}: ${part.what}; the output is in dist/verify/${part.name}.log`);
    return [await run(part)];
  })
).flat();
const table = tableOf(verified, Math.round((performance.now() - started) / 1000));
writeFileSync(`${directory}.txt`, `${table}\n`);
say(table);
process.exitCode = stopped || verified.some(({ passed }) => !passed) ? 1 : 0;
