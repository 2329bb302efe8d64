import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type DocStep, isPrinted } from "../support/doc-blocks.ts";

/** A command that did not do what its page says. */
export interface Surprise {
  readonly command: string;
  readonly code: number;
  readonly printed: string;
  readonly expected: string | undefined;
}

/** Runs commands in one shell without a pause, and returns those that surprise a reader. */
export async function surprises(
  steps: readonly DocStep[],
  directory: string,
  env: Readonly<Record<string, string>> = {},
): Promise<readonly Surprise[]> {
  const results = join(directory, ".results");
  rmSync(results, { recursive: true, force: true });
  mkdirSync(results);
  const script = steps.map(
    ({ command }, at) =>
      `{\n${command}\n} > ${results}/${at} 2>&1\nc=$?; echo $c > ${results}/${at}.code; (exit $c)\n`,
  );
  writeFileSync(join(results, "script"), script.join(""));
  const shell = spawn("bash", [join(results, "script")], {
    cwd: directory,
    stdio: "ignore",
    env: { PATH: process.env.PATH, HOME: directory, KUBERC: "off", ...env },
  });
  await new Promise((resolve) => shell.once("exit", resolve));
  return steps.flatMap((step, at) => {
    const code = Number(readFileSync(join(results, `${at}.code`), "utf8"));
    const printed = readFileSync(join(results, String(at)), "utf8");
    const { command, expected } = step;
    return isAsSaid(step, code, printed) ? [] : [{ command, code, printed, expected }];
  });
}

/** A refused command fails with a refusal of the API server, every other one succeeds. */
function isAsSaid({ expected, isRefused }: DocStep, code: number, printed: string): boolean {
  if (isRefused && (code === 0 || !/forbidden|unauthorized|invalid/i.test(printed))) return false;
  if (expected !== undefined) return isPrinted(expected, printed);
  return isRefused || code === 0;
}
