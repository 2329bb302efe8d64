import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../runtime/error-code.ts";
import { ConfigError } from "../runtime/config-values.ts";

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
    mkdirSync(directory, { recursive: true });
    for (const { name, text } of files) writeFileSync(join(directory, name), text, { mode: 0o600 });
  } catch (error) {
    throw new ConfigError(
      "--output",
      directory,
      `cannot be written: ${errorCode(error) ?? "unknown error"}`,
    );
  }
}
