/*
 * Runs vitest for `make test`, with the arguments of this program. Everything that the tests write is
 * in one temporary directory, which is removed however the run ends; their processes end with it,
 * because each is tied to the one that started it. What the tests need is prepared before the first;
 * with `--prepare-only` nothing else is done.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { filesOfRun, prepareFor, setupsAmong } from "./prepare.ts";
import { type Prepared, preparedVariable } from "../support/prepared.ts";
import { setupsVariable } from "../support/setups.ts";

const prepareOnly = "--prepare-only";
const given = process.argv.slice(2).filter((argument) => argument !== prepareOnly);
// test/cluster/ wants no controller: on an existing cluster, all other tests run after it.
const hasProjects = given.some((arg) => arg.startsWith("--project"));
const runs =
  process.env.USE_EXISTING_CLUSTER === "true" && !hasProjects
    ? ["cluster", "!cluster"].map((name) => [`--project=${name}`, "--passWithNoTests"])
    : [[]];
const everyChange = hasProjects ? [] : ["--project=!verify*"];
const files = filesOfRun([...everyChange, ...given]);
const prepared = await prepare();
if (process.argv.includes(prepareOnly)) process.exit(0);
const directory = mkdtempSync(join(tmpdir(), "latchkey-test-"));
let child: ChildProcess | undefined;

function killAll(signal: NodeJS.Signals): void {
  try {
    if (child?.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // All have ended.
  }
}

let stopped: NodeJS.Signals | undefined;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => {
    stopped ??= signal;
    killAll("SIGTERM");
  });

let code = 0;
for (const projects of runs) {
  const vitest = spawn("vitest", ["run", ...everyChange, ...projects, ...given], {
    stdio: "inherit",
    env: {
      ...process.env,
      TMPDIR: directory,
      [preparedVariable]: JSON.stringify(prepared),
      // On an existing cluster they are the same cluster.
      ...(runs.length === 1 && { [setupsVariable]: setupsAmong(files).join(",") }),
    },
    // A group of its own: a worker outlives a vitest that is stopped by a signal.
    detached: true,
  });
  child = vitest;
  const ended = await new Promise<number>((resolve) => {
    vitest.once("error", () => resolve(127));
    vitest.once("close", (number, signal) =>
      resolve(number ?? 128 + (signal ? constants.signals[signal] : 0)),
    );
  });
  killAll("SIGKILL");
  code = Math.max(code, ended);
  if (stopped !== undefined) break;
}
// Processes that are being killed may still write there.
for (let tries = 0; tries < 20; tries++) {
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
  if (stopped === undefined) break;
  await pause(250);
  if (!existsSync(directory) && tries > 3) break;
}
process.exitCode = stopped === undefined ? code : 128 + constants.signals[stopped];

/** Makes what the tests need; ends this program if there is no control plane for them. */
async function prepare(): Promise<Prepared> {
  try {
    return await prepareFor(files, (line) => process.stderr.write(`${line}\n`));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
