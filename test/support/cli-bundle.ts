import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "./install.ts";

/** A form of the command-line client. */
export interface CliForm {
  /** The words that start it. */
  words: readonly string[];
  /** A directory for PATH, from which kubectl runs the client and its completion. */
  bin: string;
}

/** Builds the bundle of `kubectl latchkey` into a directory, and the two programs of the plugin. */
export function cliBundleInto(directory: string): CliForm {
  npm("build:cli", `--outdir=${join(directory, "kubectl-latchkey")}`);
  return plugin([process.execPath, entryIn(directory)], join(directory, "bin"));
}

/** Whether bun runs on this machine; reports the reason if it does not. */
export function compilerRuns(report: (line: string) => void): boolean {
  try {
    npm("platform");
    return true;
  } catch (error) {
    report(`the compiled client is skipped: bun does not run on this machine: ${String(error)}`);
    return false;
  }
}

/** Compiles the bundle in a directory to a program, and writes the two programs of the plugin. */
export function cliProgramInto(directory: string): CliForm {
  const program = join(directory, "kubectl-latchkey-program");
  npm("build:program", `--outfile=${program}`, entryIn(directory));
  return plugin([program], join(directory, "program-bin"));
}

function entryIn(directory: string): string {
  return join(directory, "kubectl-latchkey", "kubectl-latchkey.mjs");
}

function npm(script: string, ...args: readonly string[]): void {
  execFileSync("npm", ["run", "--silent", script, "--", ...args], {
    cwd: repository,
    stdio: "pipe",
  });
}

function plugin(words: readonly string[], bin: string): CliForm {
  mkdirSync(bin, { recursive: true });
  const run = `exec ${words.map(quoted).join(" ")}`;
  write(join(bin, "kubectl-latchkey"), `${run} "$@"`);
  write(join(bin, "kubectl_complete-latchkey"), `${run} __complete "$@"`);
  return { words, bin };
}

function write(path: string, command: string): void {
  writeFileSync(path, `#!/bin/sh\n${command}\n`, { mode: 0o755 });
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
