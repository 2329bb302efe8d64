import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { preparedVariable } from "../support/prepared.ts";

/** The root of the checkout. */
export const repository = join(import.meta.dirname, "..", "..");

/** The TypeScript files below a directory, relative to the checkout. */
export function filesIn(directory: string): readonly string[] {
  return readdirSync(join(repository, directory), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${directory}/${name}`)
    .toSorted();
}

/** Copies the checkout to a temporary directory, in which files can be changed. */
export function makeBed(): string {
  const directory = mkdtempSync(join(tmpdir(), "latchkey-mutants-"));
  const listed = git(repository, "ls-files", "-z", "--cached", "--others", "--exclude-standard");
  for (const path of listed.split("\0"))
    // A deleted file is listed until it is committed.
    if (path !== "" && existsSync(join(repository, path)))
      cpSync(join(repository, path), join(directory, path));
  // Tests ask git for the files of the project.
  git(directory, "init", "--quiet");
  git(directory, "add", "--all");
  symlinkSync(join(repository, "node_modules"), join(directory, "node_modules"));
  return directory;
}

function git(directory: string, ...command: readonly string[]): string {
  return execFileSync("git", command, { cwd: directory, encoding: "utf8", stdio: "pipe" });
}

/** Removes a copy of the checkout. */
export function removeBed(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}

/** Whether a copy of the checkout has no error of the compiler. */
export function checks(directory: string): Promise<boolean> {
  return succeeds("tsc", ["--noEmit", "-p", "."], { directory, timeout: 300_000 });
}

/**
 * Whether tests pass in a copy of the checkout, with what the copy prepares for them; with what this
 * process has prepared if its variable says so, which is quicker and does not follow the changes.
 */
export function passes(
  directory: string,
  vitestArguments: readonly string[],
  timeout: number,
): Promise<boolean> {
  const [program, ...command] =
    process.env[preparedVariable] === undefined
      ? ["node", join("test", "run", "main.ts")]
      : ["vitest", "run"];
  const all = [...command, "--reporter=default", ...vitestArguments];
  return succeeds(program ?? "", all, { directory, timeout });
}

function succeeds(
  program: string,
  command: readonly string[],
  { directory, timeout }: { readonly directory: string; readonly timeout: number },
): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, command, {
      cwd: directory,
      stdio: "ignore",
      timeout,
      env: { ...process.env, CI: "true" },
    });
    child.once("close", (code) => resolve(code === 0));
  });
}
