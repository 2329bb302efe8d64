import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "./install.ts";

/** The command-line client, built. */
export interface CliBundle {
  /** The entry of the bundle. */
  program: string;
  /** A directory for PATH, from which kubectl runs the client and its completion. */
  bin: string;
}

/** Builds the bundle of `kubectl latchkey` into a directory, and the two programs of the plugin. */
export function cliBundleInto(directory: string): CliBundle {
  const outdir = join(directory, "kubectl-latchkey");
  execFileSync("npm", ["run", "--silent", "build:cli", "--", `--outdir=${outdir}`], {
    cwd: repository,
  });
  const program = join(outdir, "kubectl-latchkey.mjs");
  const bin = join(directory, "bin");
  mkdirSync(bin, { recursive: true });
  const run = `exec ${quoted(process.execPath)} ${quoted(program)}`;
  write(join(bin, "kubectl-latchkey"), `${run} "$@"`);
  write(join(bin, "kubectl_complete-latchkey"), `${run} __complete "$@"`);
  return { program, bin };
}

function write(path: string, command: string): void {
  writeFileSync(path, `#!/bin/sh\n${command}\n`, { mode: 0o755 });
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
