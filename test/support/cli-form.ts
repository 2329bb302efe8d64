import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kubectlScript } from "../../src/cli/kubectl/completion/completion-script.ts";
import { repository } from "./install.ts";

/** A form of the command-line client. */
export interface CliForm {
  /** The words that start it. */
  words: readonly string[];
  /** A directory for PATH, from which kubectl runs the client and its completion. */
  bin: string;
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

/** Compiles a bundle to a program in a directory, and writes the two programs of the plugin. */
export function compiled(bundle: string, directory: string): CliForm {
  const program = join(directory, "kubectl-latchkey-program");
  npm("build:program", `--outfile=${program}`, bundle);
  return plugin([program], directory);
}

/** Writes the two programs of the plugin to `bin` in a directory. */
export function plugin(words: readonly string[], directory: string): CliForm {
  const bin = join(directory, "bin");
  mkdirSync(bin, { recursive: true });
  write(join(bin, "kubectl-latchkey"), `#!/bin/sh\nexec ${words.map(quoted).join(" ")} "$@"\n`);
  write(join(bin, "kubectl_complete-latchkey"), kubectlScript);
  return { words, bin };
}

function npm(script: string, ...args: readonly string[]): void {
  execFileSync("npm", ["run", "--silent", script, "--", ...args], {
    cwd: repository,
    stdio: "pipe",
  });
}

function write(path: string, script: string): void {
  writeFileSync(path, script, { mode: 0o755 });
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
