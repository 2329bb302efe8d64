import { closeSync, openSync, readSync, statSync } from "node:fs";
import { ConfigError } from "./config-values.ts";

/** The file that an option names. */
interface NamedFile {
  /** The option with its dashes. */
  readonly option: string;
  readonly path: string;
}

/** The maximum size of a file with one value or a configuration, in bytes. */
export const mostFileBytes = 1024 * 1024;

/** The maximum size of a file or an input with many objects, in bytes. */
export const mostInputBytes = 16 * mostFileBytes;

/**
 * Reads a file of UTF-8 text; throws a ConfigError if it cannot be read, is larger than
 * {@link mostFileBytes} or is not text.
 */
export function readTextFile({ option, path }: NamedFile): string {
  const bytes = readFileBytes({ option, path });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ConfigError(option, path, "is not a text file in UTF-8");
  }
}

/** Reads a file; throws a ConfigError if it cannot be read or is larger than `most` bytes. */
export function readFileBytes({ option, path }: NamedFile, most = mostFileBytes): Buffer {
  try {
    return readAtMost(path, most);
  } catch (error) {
    throw new ConfigError(
      option,
      path,
      error instanceof RangeError
        ? `is larger than ${most} bytes`
        : `cannot be read: ${errorCode(error) ?? "unknown error"}`,
    );
  }
}

const chunkBytes = 64 * 1024;

/**
 * Reads a file whose size is not known in advance, such as a pipe or a device without an end;
 * throws the error of the system, or a RangeError if there are more than `most` bytes.
 */
export function readAtMost(path: string, most: number): Buffer {
  const file = openSync(path, "r");
  try {
    const chunks: Buffer[] = [];
    for (let length = 0; length <= most;) {
      const chunk = Buffer.alloc(chunkBytes);
      const count = readSync(file, chunk);
      if (count === 0) return Buffer.concat(chunks);
      chunks.push(chunk.subarray(0, count));
      length += count;
    }
  } finally {
    closeSync(file);
  }
  throw new RangeError(`"${path}" is larger than ${most} bytes`);
}

/** Whether a path is a file that can be read again, unlike a pipe. */
export function isRegularFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
}

/** The code of an error of the system, such as ENOENT; undefined for an error without one. */
export function errorCode(error: unknown): string | undefined {
  const isCoded = error instanceof Error && "code" in error && typeof error.code === "string";
  return isCoded ? String(error.code) : undefined;
}
