/*
 * Runs vitest for `make test`, with the arguments of this program. Everything that the tests write is
 * in one temporary directory, which is removed however the run ends; their processes end with it,
 * because each is tied to the one that started it.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const directory = mkdtempSync(join(tmpdir(), "latchkey-test-"));
const child = spawn("vitest", ["run", "--project=!verify*", ...process.argv.slice(2)], {
  stdio: "inherit",
  env: { ...process.env, TMPDIR: directory },
  // A group of its own: a worker outlives a vitest that is stopped by a signal.
  detached: true,
});

function killAll(signal: NodeJS.Signals): void {
  try {
    process.kill(-(child.pid ?? 0), signal);
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

const code = await new Promise<number>((resolve) => {
  child.once("error", () => resolve(127));
  child.once("close", (ended, signal) =>
    resolve(ended ?? 128 + (signal ? constants.signals[signal] : 0)),
  );
});
killAll("SIGKILL");
// Processes that are being killed may still write there.
for (let tries = 0; tries < 20; tries++) {
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
  if (stopped === undefined) break;
  await pause(250);
  if (!existsSync(directory) && tries > 3) break;
}
process.exitCode = stopped === undefined ? code : 128 + constants.signals[stopped];
