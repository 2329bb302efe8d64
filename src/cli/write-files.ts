import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A file for kube-apiserver. */
export interface OutputFile {
  readonly name: string;
  readonly text: string;
}

/** Writes files that only the owner can read into a directory, and creates the directory. */
export function writeFiles(directory: string, files: readonly OutputFile[]): void {
  mkdirSync(directory, { recursive: true });
  for (const { name, text } of files) writeFileSync(join(directory, name), text, { mode: 0o600 });
}
