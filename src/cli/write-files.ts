import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ConfigError } from "../runtime/config-values.ts";
import { errorCode } from "../runtime/read-text-file.ts";

/** A file for kube-apiserver. */
export interface OutputFile {
  readonly name: string;
  readonly text: string;
}

/**
 * Writes files that only the owner can read into a directory, and creates the directory; throws a
 * ConfigError if it cannot.
 */
export function writeFiles(directory: string, files: readonly OutputFile[]): void {
  try {
    makeDirectory(directory);
    for (const { name, text } of files) writeFileSync(join(directory, name), text, { mode: 0o600 });
  } catch (error) {
    throw new ConfigError(
      "--output",
      directory,
      `cannot be written: ${errorCode(error) ?? "unknown error"}`,
    );
  }
}

/**
 * Creates a directory and those above it that are missing; throws the error of the system. Below
 * /proc, `recursive` of mkdirSync never ends.
 */
export function makeDirectory(path: string, mode?: number): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const parent = dirname(path);
  if (!existsSync(parent)) makeDirectory(parent, mode);
  mkdirSync(path, { mode });
}
