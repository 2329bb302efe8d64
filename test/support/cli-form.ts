import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kubectlScript } from "../../src/client/completion/completion-script.ts";

/** A form of the command-line client. */
export interface CliForm {
  /** The words that start it. */
  words: readonly string[];
  /** A directory for PATH, from which kubectl runs the client and its completion. */
  bin: string;
}

/** Writes the two programs of the plugin to `bin` in a directory. */
export function plugin(words: readonly string[], directory: string): CliForm {
  const bin = join(directory, "bin");
  mkdirSync(bin, { recursive: true });
  write(join(bin, "kubectl-latchkey"), `#!/bin/sh\nexec ${words.map(quoted).join(" ")} "$@"\n`);
  write(join(bin, "kubectl_complete-latchkey"), kubectlScript);
  return { words, bin };
}

function write(path: string, script: string): void {
  writeFileSync(path, script, { mode: 0o755 });
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
